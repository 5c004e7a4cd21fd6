// Runs the points of a sweep one after the other, or through a launcher. With --resume, waits for points that another
// program is measuring. Compares losses bit by bit.
#include "sweep/run_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/host_clock.h"
#include "measure/describe.h"
#include "measure/forecast_point.h"
#include "sweep/child.h"
#include "sweep/claims.h"
#include "sweep/launched_sweep.h"
#include "sweep/measured_point.h"
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

void require_same_loss(const Record& earlier, PointResult& result) {
  Record& record = result.record;
  if (!comparable(earlier, record)) return;
  const size_t steps = std::min(earlier.loss.values.size(), record.loss.values.size());
  for (size_t step = 0; step < steps; ++step) {
    const double before = earlier.loss.values[step];
    const double now = record.loss.values[step];
    if (before == now) continue;
    record.status = Status::kFailed;
    record.reason = fmt::format(
        "the loss of step {} is {:.9g}, but was {:.9g} in the run of {} with the same configuration, program and "
        "kernels, so no timing is reported; test the memory of the machine, or report this as a defect",
        step + 1, now, before, earlier.created);
    clear_timing(result);
    return;
  }
}

namespace {

class SweepRun {
 public:
  SweepRun(std::span<const ResolvedPoint> points, const SweepOptions& options, const SweepCallbacks& callbacks)
      : points_(points), options_(options), callbacks_(callbacks), store_(options.store), run_(new_run_id()) {}

  SweepOutcome run() {
    attempt([&] { options_.launcher ? run_elsewhere(*options_.launcher) : run_points(); });
    attempt([&] { report_held(/*all=*/true); });
    outcome_.interrupted = signals_.count() > 0;
    const bool none_supported = unsupported_ > 0 && unsupported_ == points_.size() && !options_.is_part_of_supported;
    outcome_.failed = outcome_.failed || none_supported;
    const std::optional<std::string> problem = store_.settle();
    outcome_.lost = store_.lost();
    attempt([&] { warn(problem); });
    return outcome_;
  }

 private:
  // Does a part of the run. The first error becomes the outcome's `ended_by`.
  template <class Part>
  void attempt(const Part& part) {
    try {
      part();
    } catch (...) {
      if (!outcome_.ended_by) outcome_.ended_by = std::current_exception();
    }
  }

  void run_points() {
    std::vector<size_t> left(points_.size());
    std::iota(left.begin(), left.end(), size_t{0});
    while (!left.empty() && signals_.count() == 0) {
      std::vector<size_t> elsewhere;  // points that other programs are currently measuring
      for (const size_t index : left) {
        if (signals_.count() > 0) break;
        if (callbacks_.enough && callbacks_.enough()) return;
        if (!complete(index)) elsewhere.push_back(index);
      }
      if (!elsewhere.empty() && elsewhere.size() == left.size()) wait_for_others(elsewhere.front());
      left = std::move(elsewhere);
    }
  }

  // Runs a point or finds its record. Returns false if another program is measuring the point and will store its
  // record.
  bool complete(size_t index) {
    const Seconds start = host_now();
    const Record described = describe(points_[index]);
    if (!points_[index].invalid.empty()) {
      finish(index, refused_point(points_[index], described), PointSource::kInvalid, start);
      return true;
    }
    if (report_stored(index, described, start)) return true;
    const std::optional<PointClaim> claim =
        PointClaim::take(options_.store.value_or(std::filesystem::path()), described);
    if (options_.resume && !claim) return false;
    // Meanwhile another program may have finished the point and released its claim.
    if (report_stored(index, described, start)) return true;
    finish(index, measure(index, described), PointSource::kMeasured, start);
    return true;
  }

  // Called while other programs are measuring every remaining point: waits a moment, or until a signal arrives.
  void wait_for_others(size_t index) {
    constexpr Seconds kPause{0.2};
    if (waiting_since_.count() == 0) {
      waiting_since_ = host_now();
      if (callbacks_.begin) callbacks_.begin(index);
    }
    if (callbacks_.progress)
      callbacks_.progress(index, {.stage = "another program is measuring it"}, host_now() - waiting_since_);
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
    std::optional<Store::Finished> stored = store_.reusable(points_[index], described, options_.trace.least_steps());
    if (!stored) return false;
    store_.took(run_, stored->id);
    report(index, {std::move(stored->record), {}, std::move(stored->trace)}, PointSource::kStored, start);
    return true;
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
    PointResult result = measured_point(point, described, known, options_.trace,
                                        {.timeout = Seconds(point.config.timeout)}, signals_, child, options_.ranks);
    if (result.record.status == Status::kOutOfMemory && result.record.reason.starts_with("predicted:")) {
      if (const std::string sizes = sizes_text(point); !sizes.empty()) result.record.reason += "; " + sizes;
    }
    if (const auto earlier = store_.finished(described)) require_same_loss(earlier->record, result);
    return result;
  }

  // Says which sizes fit or, if the search has already taken long, how to find out.
  std::string sizes_text(const ResolvedPoint& point) {
    constexpr Seconds kLongSearch{10};  // total over all points; long, because every size tried needs a plan
    if (searching_ > kLongSearch) return "laptime plan --largest shows which batch and context fit";
    const Seconds start = host_now();
    std::string sizes = sizes_that_fit(point, [&](const std::string& device) { return store_.known(device); });
    searching_ += host_now() - start;
    return sizes;
  }

  void finish(size_t index, const PointResult& result, PointSource source, Seconds start) {
    keep(result);
    report(index, result, source, start);
  }

  // Runs the points on other machines, except invalid points and, with --resume, points that the store has.
  void run_elsewhere(const Launcher& launcher) {
    std::vector<size_t> left;
    for (size_t index = 0; index < points_.size(); ++index) {
      const Seconds start = host_now();
      const Record described = describe_elsewhere(index);
      if (!points_[index].invalid.empty()) {
        const PointResult refused = refused_point(points_[index], described);
        keep(refused);
        hold(index, {refused, PointSource::kInvalid, start});
      } else if (auto stored = options_.resume ? store_.reusable_anywhere(described) : std::nullopt) {
        store_.took(run_, stored->id);
        hold(index, {{std::move(stored->record), {}, {}}, PointSource::kStored, start});
      } else {
        left.push_back(index);
      }
    }
    if (left.empty()) return;
    probe_launcher(launcher, signals_);
    run_launched(launcher, left, signals_,
                 {.request =
                      [this](size_t index) {
                        const Record described = describe_elsewhere(index);
                        PointRequest request = request_of(points_[index]);
                        request.sweep = described.sweep;
                        request.run = described.run;
                        request.asked_hash = described.asked_hash;
                        return request;
                      },
                  .timeout = [this](size_t index) { return Seconds(points_[index].config.timeout); },
                  .lost =
                      [this](size_t index) {
                        return PointResult{describe_elsewhere(index), {}, {}};
                      },
                  .known = [this](const std::string& device) { return store_.known(device); },
                  .begin = callbacks_.begin,
                  .progress = callbacks_.progress,
                  .again =
                      [this](size_t index, const std::string& reason) {
                        if (callbacks_.warning)
                          callbacks_.warning(fmt::format("{}: {}; trying once more", points_[index].name, reason));
                      },
                  .finished = [this](size_t index, const PlacedPoint& point,
                                     Seconds elapsed) { take_placed(index, point, elapsed); }});
  }

  // Describes a point whose machine is not known yet.
  Record describe_elsewhere(size_t index) const {
    Record record = describe(points_[index]);
    record.asked_hash = record.config_hash;
    record.fingerprint.clear();
    return record;
  }

  void take_placed(size_t index, const PlacedPoint& placed, Seconds elapsed) {
    PointResult result = placed.result;
    if (const auto earlier = store_.finished(result.record)) require_same_loss(earlier->record, result);
    keep(result);
    ++outcome_.placement.points;
    outcome_.placement.total += placed.placement;
    outcome_.placement.longest = std::max(outcome_.placement.longest, placed.placement);
    hold(index, {std::move(result), PointSource::kMeasured, host_now() - elapsed});
    report_held(/*all=*/false);
  }

  struct Held {
    PointResult result;
    PointSource source{};
    Seconds start;
  };

  void hold(size_t index, Held held) { held_.insert_or_assign(index, std::move(held)); }

  // Reports held results in the order of the sweep, up to the first point without a result; with `all`, skips such
  // points.
  void report_held(bool all) {
    while (!held_.empty() && (all || held_.begin()->first == next_)) {
      const auto [index, held] = std::move(*held_.begin());
      held_.erase(held_.begin());
      next_ = index + 1;
      report(index, held.result, held.source, held.start);
    }
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
    outcome_.failed = outcome_.failed || !is_settled(record.status);
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
  Seconds waiting_since_{};  // when waiting for points of other programs began; 0: not yet
  size_t unsupported_ = 0;
  std::map<size_t, Held> held_;  // results of launched points that are not reported yet, by index
  size_t next_ = 0;              // index of the point to report next
  Seconds searching_{};          // time spent searching for sizes that fit
  SweepOutcome outcome_;
};

}  // namespace

SweepOutcome run_sweep(std::span<const ResolvedPoint> points, const SweepOptions& options,
                       const SweepCallbacks& callbacks) {
  if (options.resume && !options.store) throw Error("--resume: no store to resume from; name one with --store");
  if (options.ranks.size > 0 && !options.launcher) {
    for (const ResolvedPoint& point : points) {
      if (point.invalid.empty() && point.is_measured()) require_size(options.ranks.size, point.config.ranks);
    }
  }
  return SweepRun(points, options, callbacks).run();
}

}  // namespace laptime
