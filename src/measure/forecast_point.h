// forecast_point: what a point would take and hold, without running it or allocating its memory.
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

// The record has the predicted bytes and, where there is something to predict from, times; it is out_of_memory with the
// arithmetic if the plan does not fit. The trace has the launches and buffers of the plan and, with times, one step.
PointResult forecast_point(const ResolvedPoint& point, const KnowledgeOf& known);

// The functions below take a point that has a device. Error if the device has no kernel for a node of the point.

// The plan alone.
Prepared plan_of(const ResolvedPoint& point, const KnowledgeOf& known);

// The time of all phases of a step, whichever the pass reports.
struct StepForecast {
  Seconds time{};
  // Where it is a guess from few launches of other sizes, what it may be as well.
  std::optional<std::pair<Seconds, Seconds>> rough{};
};
// None if nothing was measured to predict from.
std::optional<StepForecast> predicted_step_time(const Prepared& prepared, const KnowledgeOf& known);

// Of a step on a device that is described by its data sheet: what it takes to start its kernels.
struct LaunchBound {
  int64_t launches = 0;
  Seconds each{};
  bool holds = false;  // whether to start the kernels takes longer than to run them
  // The least context at which the kernels take longer than to start them; none up to kLargestContext.
  std::optional<int64_t> least_context{};
};

// None for a device that computes.
std::optional<LaunchBound> launch_bound(const ResolvedPoint& point, const KnowledgeOf& known);

// The size that is enlarged: sequences of a batch, or tokens of the context.
enum class Enlarged : uint8_t { kBatch, kContext };

inline constexpr int64_t kLargestBatch = 65'536;       // where a search for the largest that fits ends
inline constexpr int64_t kLargestContext = 1'048'576;  // tokens

// The largest value with which the point fits into memory; 0 if it does not fit with 1. `limit` ends the search.
// `before_plan`, if any, is called before each plan, which may take seconds, and may throw.
int64_t largest_that_fits(const ResolvedPoint& point, const KnowledgeOf& known, Enlarged what, int64_t limit,
                          const std::function<void()>& before_plan = {});

// "it fits with --batch 2 or with --context 128", each of them planned, of a point that does not fit; empty if its plan
// fits, or cannot be made.
std::string sizes_that_fit(const ResolvedPoint& point, const KnowledgeOf& known);

}  // namespace laptime
