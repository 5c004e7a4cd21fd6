// Runs one point, and marks its record as failed if its files change during the run.
#include "sweep/measured_point.h"

#include <fmt/format.h>

#include <string>

#include "base/json.h"
#include "measure/describe.h"
#include "sweep/ranks.h"

namespace laptime {
namespace {

// Marks the result as failed if a file of --data or --weights has changed since the run began, when the hashes of the
// files were `hashes`.
void require_unchanged_files(const ResolvedPoint& point, const std::string& hashes, PointResult& result) {
  Record& record = result.record;
  const RunConfig& config = point.config;
  if (record.status != Status::kOk || input_hashes(config) == hashes) return;
  record.status = Status::kFailed;
  record.reason = fmt::format("{} changed during the run, so no timing is reported; run the point again",
                              config.weights.empty() ? "the file of --data"
                              : config.data.empty()  ? "the file of --weights"
                                                     : "a file of --data or --weights");
  clear_timing(result);
}

}  // namespace

void clear_timing(PointResult& result) {
  result.trace.reset();
  result.learned = {};
  Record& record = result.record;
  record.time.clear();
  record.host = {};
  record.phases.clear();
  record.classes.clear();
  record.tokens_per_second.reset();
  record.flops.model_flops_per_second.reset();
  record.flops.mfu_measured.reset();
  record.flops.mfu_datasheet.reset();
  record.flops.above_peak.clear();
  record.flops.products_per_second.reset();
  record.communication.seconds.reset();
  record.communication.exposed.reset();
  record.transient = {};
  record.stopping = {};
  record.verdict = {};
  record.machine.json().erase("during");
  if (Json* const sensors = record.machine.json().find("sensors")) sensors->erase("joules_per_step");
}

PointResult refused_point(const ResolvedPoint& point, const Record& described) {
  PointResult result{described, {}, {}};
  result.record.status = Status::kUnsupported;
  result.record.reason = point.invalid;
  return result;
}

PointResult measured_point(const ResolvedPoint& point, const Record& described, const MachineKnowledge& known,
                           const TraceRequest& trace, ChildLimits limits, StopSignals& signals,
                           const ChildCallbacks& callbacks, const RankPipes& ranks) {
  const bool has_ranks = point.config.ranks > 1 && point.is_measured();
  if (has_ranks) limits.silence = limits.timeout;  // the child only waits; the ranks detect hangs
  const std::string hashes = input_hashes(point.config);
  PointResult result = run_in_child(
      described,
      [&](const PointHooks& hooks) {
        return has_ranks ? run_ranks(point, known, hooks, trace, described, ranks)
                         : run_one(point, known, hooks, trace, described);
      },
      limits, signals, callbacks);
  require_unchanged_files(point, hashes, result);
  return result;
}

}  // namespace laptime
