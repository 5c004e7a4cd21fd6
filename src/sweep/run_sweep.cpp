// Runs the points of a sweep one after the other, leaves out those that another program measures, and compares losses
// bit by bit.
#include "sweep/run_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/host_clock.h"
#include "measure/describe.h"
#include "measure/forecast_point.h"
#include "prepare/prepare.h"
#include "sweep/child.h"
#include "sweep/point_claim.h"
#include "sweep/ranks.h"
#include "sweep/stop_signals.h"
#include "sweep/sweep_store.h"

namespace laptime {
namespace {

bool comparable(const Record& earlier, const Record& record) {
  return earlier.status == Status::kOk && record.status == Status::kOk && earlier.config_hash == record.config_hash &&
         earlier.binary == record.binary && earlier.fingerprint == record.fingerprint &&
         earlier.math_mode == record.math_mode && earlier.kernels == record.kernels;
}

}  // namespace

void clear_timing(Record& record) {
  record.time.clear();
  record.phases.clear();
  record.tokens_per_second.reset();
}

void require_same_loss(const Record& earlier, Record& record) {
  if (!comparable(earlier, record)) return;
  const size_t steps = std::min(earlier.loss.values.size(), record.loss.values.size());
  for (size_t step = 0; step < steps; ++step) {
    const double before = earlier.loss.values[step];
    const double now = record.loss.values[step];
    if (before == now) continue;
    record.status = Status::kFailed;
    record.reason = fmt::format(
        "the loss of step {} is {:.9g}, but was {:.9g} in the run of {} with the same configuration, program and "
        "kernels, so no timing is reported",
        step + 1, now, before, earlier.created);
    clear_timing(record);
    return;
  }
}

namespace {

class SweepRun {
 public:
  SweepRun(std::span<const ResolvedPoint> points, const SweepOptions& options, const SweepCallbacks& callbacks)
      : points_(points), options_(options), callbacks_(callbacks), store_(options.store), run_(new_run_id()) {}

  SweepOutcome run() {
    try {
      run_points();
    } catch (...) {
      outcome_.ended_by = std::current_exception();
    }
    outcome_.interrupted = signals_.count() > 0;
    outcome_.failed = outcome_.failed || (unsupported_ > 0 && unsupported_ == points_.size());
    warn(store_.settle());
    outcome_.lost = store_.lost();
    return outcome_;
  }

 private:
  void run_points() {
    std::vector<size_t> left(points_.size());
    std::iota(left.begin(), left.end(), size_t{0});
    while (!left.empty() && signals_.count() == 0) {
      std::vector<size_t> elsewhere;  // points that other programs measure now
      for (const size_t index : left) {
        if (signals_.count() > 0) break;
        if (callbacks_.enough && callbacks_.enough()) return;
        if (!complete(index)) elsewhere.push_back(index);
      }
      if (!elsewhere.empty() && elsewhere.size() == left.size()) wait_for_others(elsewhere.front());
      left = std::move(elsewhere);
    }
  }

  // Makes or finds the record of a point. False if it has to come from another program that is measuring the point.
  bool complete(size_t index) {
    const Seconds start = host_now();
    const Record described = describe(points_[index]);
    if (!points_[index].invalid.empty()) {
      finish(index, refuse(index, described), PointSource::kInvalid, start);
      return true;
    }
    if (report_stored(index, described, start)) return true;
    const std::optional<PointClaim> claim =
        PointClaim::take(options_.store.value_or(std::filesystem::path()), described);
    if (options_.resume && !claim) return false;
    // Between the two another program may have finished the point, and ended its claim.
    if (report_stored(index, described, start)) return true;
    finish(index, measure(index, described), PointSource::kMeasured, start);
    return true;
  }

  // Waits a moment, or until a signal arrives, while every point that is left is measured by others.
  void wait_for_others(size_t index) {
    constexpr Seconds kPause{0.2};
    if (waiting_since_.count() == 0) {
      waiting_since_ = host_now();
      if (callbacks_.begin) callbacks_.begin(index);
    }
    if (callbacks_.progress)
      callbacks_.progress(index, {.stage = "another program measures it"}, host_now() - waiting_since_);
    signals_.wait(kPause);
  }

  Record describe(const ResolvedPoint& point) const {
    Record record = describe_point(point);
    record.sweep = options_.name;
    record.run = run_;
    return record;
  }

  bool report_stored(size_t index, const Record& described, Seconds start) {
    if (!options_.resume) return false;
    std::optional<Store::Finished> stored = store_.finished(described, options_.trace.least_steps());
    if (!stored || !recomputes_alike(points_[index], stored->record)) return false;
    store_.took(run_, stored->id);
    report(index, {std::move(stored->record), {}, std::move(stored->trace)}, PointSource::kStored, start);
    return true;
  }

  // What `--recompute auto` resolves to depends on the memory that is available now.
  bool recomputes_alike(const ResolvedPoint& point, const Record& stored) const {
    if (point.config.recompute != "auto") return true;
    if (!point.device) return false;
    try {
      const Prepared now = prepare(point.config, *point.device, store_.known(point.device_key));
      return now.memory.recompute == stored.memory.recompute;
    } catch (const Error&) {
      return false;
    }
  }

  PointResult refuse(size_t index, const Record& described) const {
    PointResult result{described, {}, {}};
    result.record.status = Status::kUnsupported;
    result.record.reason = points_[index].invalid;
    return result;
  }

  PointResult measure(size_t index, const Record& described) {
    if (callbacks_.begin) callbacks_.begin(index);
    const ResolvedPoint& point = points_[index];
    const MachineKnowledge known = store_.known(point.device_key);
    ChildCallbacks child;
    child.output = callbacks_.output;
    if (callbacks_.progress) {
      child.progress = [&](const PointProgress& progress, Seconds elapsed) {
        callbacks_.progress(index, progress, elapsed);
      };
    }
    ChildLimits limits{.timeout = Seconds(point.config.timeout)};
    const bool has_ranks = point.config.ranks > 1 && point.is_measured();
    if (has_ranks) limits.silence = limits.timeout;  // the process waits for ranks, which watch each other
    PointResult result = run_in_child(
        described,
        [&](const PointHooks& hooks) {
          return has_ranks ? run_ranks(point, known, hooks, options_.trace, described, options_.ranks)
                           : run_one(point, known, hooks, options_.trace, described);
        },
        limits, signals_, child);
    require_unchanged_files(point, result.record);
    if (result.record.status == Status::kOutOfMemory && result.record.reason.starts_with("predicted:")) {
      if (const std::string sizes = sizes_text(point); !sizes.empty()) result.record.reason += "; " + sizes;
    }
    if (const auto earlier = store_.finished(described)) require_same_loss(earlier->record, result.record);
    return result;
  }

  // Which sizes fit, or, once searching has taken long, where to ask.
  std::string sizes_text(const ResolvedPoint& point) {
    constexpr Seconds kLongSearch{10};  // in all points: each size that is tried is planned
    if (searching_ > kLongSearch) return "laptime plan --largest says which batch and context fit";
    const Seconds start = host_now();
    std::string sizes = sizes_that_fit(point, [&](const std::string& device) { return store_.known(device); });
    searching_ += host_now() - start;
    return sizes;
  }

  // The record belongs to the content of its files only if nobody wrote to them while they were read.
  static void require_unchanged_files(const ResolvedPoint& point, Record& record) {
    const RunConfig& config = point.config;
    if (record.status != Status::kOk || (config.weights.empty() && config.data.empty())) return;
    if (describe_point(point).config_hash == record.config_hash) return;
    record.status = Status::kFailed;
    record.reason = fmt::format("{} changed during the run, so no timing is reported; run the point again",
                                config.weights.empty() ? "the file of --data"
                                : config.data.empty()  ? "the file of --weights"
                                                       : "a file of --data or --weights");
    clear_timing(record);
  }

  void finish(size_t index, const PointResult& result, PointSource source, Seconds start) {
    keep(result);
    report(index, result, source, start);
  }

  void keep(const PointResult& result) {
    warn(options_.keeps_traces ? store_.keep(result) : store_.keep({result.record, result.learned, {}}));
  }

  void warn(const std::optional<std::string>& problem) {
    if (problem && *problem != last_problem_ && callbacks_.warning) callbacks_.warning(*problem);
    last_problem_ = problem.value_or("");
  }

  void report(size_t index, const PointResult& result, PointSource source, Seconds start) {
    const Record& record = result.record;
    const bool is_settled =
        record.status == Status::kOk || record.status == Status::kOutOfMemory || record.status == Status::kUnsupported;
    outcome_.failed = outcome_.failed || !is_settled;
    unsupported_ += record.status == Status::kUnsupported ? 1 : 0;
    if (callbacks_.finished) callbacks_.finished(index, result, source, host_now() - start);
  }

  std::span<const ResolvedPoint> points_;
  const SweepOptions& options_;
  const SweepCallbacks& callbacks_;
  SweepStore store_;
  StopSignals signals_;
  std::string run_;
  std::string last_problem_;
  Seconds waiting_since_{};  // for points that other programs measure; 0: not yet
  size_t unsupported_ = 0;
  Seconds searching_{};  // for the sizes that fit
  SweepOutcome outcome_;
};

}  // namespace

SweepOutcome run_sweep(std::span<const ResolvedPoint> points, const SweepOptions& options,
                       const SweepCallbacks& callbacks) {
  if (options.resume && !options.store)
    throw Error("--resume: there is no store to resume from; give one with --store");
  return SweepRun(points, options, callbacks).run();
}

}  // namespace laptime
