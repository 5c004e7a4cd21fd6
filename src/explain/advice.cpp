// Finds advice by planning variants of a point, one after the other.
#include "explain/advice.h"

#include <optional>
#include <string>
#include <utility>

#include "prepare/fit_recompute.h"

namespace laptime {
namespace {

ResolvedPoint recomputing(ResolvedPoint point, const char* rule) {
  point.config.recompute = rule;
  return point;
}

ResolvedPoint in_mode(SweepPoint point, Mode mode) {
  point.config.mode = mode;
  return point;
}

// The record of the point in compile mode if only compile mode fits, or if it is predicted to be faster; otherwise
// none.
std::optional<Record> better_compiled(const ResolvedPoint& point, const Record& eager, const KnowledgeOf& known) {
  Record record = forecast_point(in_mode(point, Mode::kCompile), known).record;
  if (record.status != Status::kOk) return std::nullopt;
  const std::string pass(name_of(point.config.pass));
  const bool is_faster = predicted_seconds(record, pass).value_or(0) < predicted_seconds(eager, pass).value_or(0);
  return eager.status == Status::kOutOfMemory || is_faster ? std::optional(std::move(record)) : std::nullopt;
}

// Thrown at any depth of a search to end the advice.
struct Stopped {};

void find_largest(const ResolvedPoint& point, const KnowledgeOf& known, const std::function<void(const char*)>& stage,
                  const MemoryExcess& excess, std::optional<int64_t>& batch, std::optional<int64_t>& context) {
  batch = largest_that_fits(
      point, known, Enlarged::kBatch, kLargestBatch, [&] { stage("largest batch that fits"); }, excess);
  context = largest_that_fits(
      point, known, Enlarged::kContext, kLargestContext, [&] { stage("largest context that fits"); }, excess);
}

}  // namespace

void advise(const ResolvedPoint& point, const KnowledgeOf& known, const AdviceParts& parts, const BeginStage& begin,
            PlannedPoint& planned) {
  const auto stage = [&](const char* name) {
    if (!begin(name)) throw Stopped();
  };
  const bool fits_itself = point.config.recompute == "auto";
  try {
    if (parts.remedies && planned.record.status == Status::kOutOfMemory && !fits_itself) {
      stage("recomputation that fits");
      const Prepared lean = plan_of(recomputing(point, "auto"), known);
      planned.fitting_recompute = lean.shortage.empty() ? typed_recompute(lean.memory.recompute) : "nothing fits";
    }
    if (parts.compile_mode) {
      stage("plan of --mode compile");
      planned.compiled = better_compiled(point, planned.record, known);
    }
    if (const auto bound = parts.launch_bound ? launch_bound(point, known) : std::nullopt) {
      planned.launches = bound->launches;
      planned.launch_s = bound->each.count();
      planned.launch_bound_below = bound->least_context;
    }
    if (parts.largest_sizes) {
      find_largest(point, known, stage, parts.excess, planned.largest_batch, planned.largest_context);
      if (fits_itself)
        find_largest(recomputing(point, "none"), known, stage, parts.excess, planned.largest_batch_kept,
                     planned.largest_context_kept);
    }
  } catch (const Stopped&) {  // results of earlier stages are kept
    return;
  }
}

}  // namespace laptime
