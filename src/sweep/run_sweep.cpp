// Runs the points of a sweep one after the other.
#include "sweep/run_sweep.h"

#include <unistd.h>

#include <ctime>
#include <utility>

#include "base/error.h"
#include "base/host_clock.h"
#include "measure/describe.h"
#include "sweep/child.h"
#include "sweep/same_loss.h"
#include "sweep/stop_signals.h"
#include "sweep/sweep_store.h"

namespace laptime {
namespace {

class SweepRun {
 public:
  SweepRun(std::span<const SweepPoint> points, const SweepOptions& options, const SweepCallbacks& callbacks)
      : points_(points),
        options_(options),
        callbacks_(callbacks),
        store_(options.store),
        run_(fmt::format("{}-{}", format_utc(static_cast<int64_t>(std::time(nullptr))), getpid())) {}

  SweepOutcome run() {
    try {
      run_points();
    } catch (...) {
      outcome_.ended_by = std::current_exception();
    }
    outcome_.interrupted = signals_.count() > 0;
    warn(store_.settle());
    outcome_.lost = store_.lost();
    return outcome_;
  }

 private:
  void run_points() {
    for (size_t index = 0; index < points_.size() && signals_.count() == 0; ++index) {
      const Seconds start = host_now();
      const Record described = describe(points_[index]);
      if (std::optional<PointResult> stored = finished_before(described)) {
        report(index, *stored, PointSource::kStored, start);
        continue;
      }
      const bool valid = points_[index].invalid.empty();
      const PointResult result = valid ? measure(index, described) : refuse(index, described);
      keep(result);
      report(index, result, valid ? PointSource::kMeasured : PointSource::kInvalid, start);
    }
  }

  Record describe(const SweepPoint& point) const {
    Record record = describe_point(point);
    record.sweep = options_.name;
    record.run = run_;
    return record;
  }

  std::optional<PointResult> finished_before(const Record& described) const {
    if (!options_.resume) return std::nullopt;
    std::optional<Store::Finished> stored = store_.finished(described, options_.trace.wanted);
    if (!stored) return std::nullopt;
    return PointResult{std::move(stored->record), {}, std::move(stored->trace)};
  }

  PointResult refuse(size_t index, const Record& described) const {
    PointResult result{described, {}, {}};
    result.record.status = Status::kUnsupported;
    result.record.reason = points_[index].invalid;
    return result;
  }

  PointResult measure(size_t index, const Record& described) {
    if (callbacks_.begin) callbacks_.begin(index);
    const SweepPoint& point = points_[index];
    const MachineKnowledge known = store_.known(device_key(point.config));
    ChildCallbacks child;
    child.output = callbacks_.output;
    if (callbacks_.progress) {
      child.progress = [&](const PointProgress& progress, Seconds elapsed) {
        callbacks_.progress(index, progress, elapsed);
      };
    }
    PointResult result = run_in_child(
        described, [&](const PointHooks& hooks) { return run_one(point, known, hooks, find_device, options_.trace); },
        Seconds(point.config.timeout), signals_, child);
    result.record.sweep = described.sweep;
    result.record.run = described.run;
    if (const auto earlier = store_.finished(described)) require_same_loss(earlier->record, result.record);
    return result;
  }

  void keep(const PointResult& result) { warn(store_.keep(result)); }

  void warn(const std::optional<std::string>& problem) {
    if (problem && *problem != last_problem_ && callbacks_.warning) callbacks_.warning(*problem);
    last_problem_ = problem.value_or("");
  }

  void report(size_t index, const PointResult& result, PointSource source, Seconds start) {
    const Record& record = result.record;
    const bool is_settled =
        record.status == Status::kOk || record.status == Status::kOutOfMemory || record.status == Status::kUnsupported;
    outcome_.failed = outcome_.failed || !is_settled;
    if (callbacks_.finished) callbacks_.finished(index, result, source, host_now() - start);
  }

  std::span<const SweepPoint> points_;
  const SweepOptions& options_;
  const SweepCallbacks& callbacks_;
  SweepStore store_;
  StopSignals signals_;
  std::string run_;
  std::string last_problem_;
  SweepOutcome outcome_;
};

}  // namespace

SweepOutcome run_sweep(std::span<const SweepPoint> points, const SweepOptions& options,
                       const SweepCallbacks& callbacks) {
  if (options.resume && !options.store)
    throw Error("--resume: there is no store to resume from; give one with --store");
  return SweepRun(points, options, callbacks).run();
}

}  // namespace laptime
