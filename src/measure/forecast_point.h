// forecast_point: predicts a point's time and memory, without running it or allocating its memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/units.h"
#include "measure/run_one.h"
#include "prepare/prepare.h"

namespace laptime {

// The record has the predicted bytes and, if there is a basis for prediction, times; if the plan does not
// fit, the status is out_of_memory, and the reason shows how the required bytes add up. The trace has the plan's
// launches and buffers and, with times, one step.
PointResult forecast_point(const ResolvedPoint& point, const KnowledgeOf& known);

// The functions below need a point with a device. They throw Error if the device has no kernel for a node of the point.

// Like forecast_point, but makes only the plan.
Prepared plan_of(const ResolvedPoint& point, const KnowledgeOf& known);

// The time of all phases of a step, regardless of the pass.
struct StepForecast {
  Seconds time{};
  // The range of the time, if it is estimated from few launches of other sizes.
  std::optional<std::pair<Seconds, Seconds>> rough{};
};
// None if no measurements are available for a prediction.
std::optional<StepForecast> predicted_step_time(const Prepared& prepared, const KnowledgeOf& known);

// The cost of launching the kernels of a step, on a device described by its data sheet.
struct LaunchBound {
  int64_t launches = 0;
  Seconds each{};
  // The smallest context whose kernels take longer than their launches, ignoring single contexts that are slow because
  // of padding; none if that context exceeds kLargestContext or the limit of the model.
  std::optional<int64_t> least_context{};
};

// None for a device that runs kernels.
std::optional<LaunchBound> launch_bound(const ResolvedPoint& point, const KnowledgeOf& known);

// The size to enlarge: sequences per batch, or tokens of context.
enum class Enlarged : uint8_t { kBatch, kContext };

inline constexpr int64_t kLargestBatch = 65'536;       // upper limit of a search for a batch size
inline constexpr int64_t kLargestContext = 1'048'576;  // upper limit of a search for a context, in tokens

// By how many bytes a point exceeds the device's memory; negative if it fits, none if unknown.
using MemoryExcess = std::function<std::optional<double>(const RunConfig&)>;

// The largest batch size or context with which the point fits in memory; 0 if not even the smallest size fits: one
// token, or one sequence per micro-batch. The search stops at `limit` and at the longest context that the model
// accepts. `before_plan`, if not null, is called before each plan is made, which may take seconds; `before_plan` may
// throw. If `excess` returns a value for a size, that size is not planned.
int64_t largest_that_fits(const ResolvedPoint& point, const KnowledgeOf& known, Enlarged what, int64_t limit,
                          const std::function<void()>& before_plan = {}, const MemoryExcess& excess = {});

// Advice for a point that does not fit: smaller sizes that fit ("it fits with --batch 2 or with --context 128"),
// otherwise --threads 1, or that nothing smaller fits. A plan verifies each option. Empty if the point's plan fits or
// cannot be made.
std::string sizes_that_fit(const ResolvedPoint& point, const KnowledgeOf& known);

}  // namespace laptime
