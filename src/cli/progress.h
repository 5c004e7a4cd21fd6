// Forecasts of the duration of a sweep, and the progress lines on standard error.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/host_clock.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "measure/run_one.h"
#include "prepare/knowledge.h"
#include "prepare/resolved_point.h"
#include "sweep/stop_signals.h"

namespace laptime {

// Estimates the rest of a sweep from the times of its finished points and the cost of each point.
class TimeLeft {
 public:
  // `costs`: of each point, in seconds or in any other unit; 0 for one that does not run.
  explicit TimeLeft(std::vector<double> costs, bool are_seconds = false)
      : costs_(std::move(costs)), are_seconds_(are_seconds) {}

  void finished(size_t point, Seconds took);
  void skipped(size_t point);  // took no time, and does not change the estimate of the others

  // The time left while `point` runs: it has run for `elapsed` and, if it reports progress, needs `of_point` more. None
  // before there is anything to estimate from.
  std::optional<Seconds> estimate(size_t point, std::optional<Seconds> of_point, Seconds elapsed) const;

 private:
  std::vector<double> costs_;
  bool are_seconds_;
  std::vector<bool> done_ = std::vector<bool>(costs_.size());
  double known_cost_ = 0;
  Seconds known_time_{};
};

struct ExpectedPoint {
  std::optional<Seconds> time;  // set-up, warm-up and samples; none if nothing was measured to predict from
  // The range of the time if few launches were measured to predict from.
  std::optional<std::pair<Seconds, Seconds>> rough{};
  bool fits = true;
  // When the record that --resume finds was measured, in ISO 8601; none if there is no such record and the point runs.
  std::optional<std::string> stored_at{};

  bool runs() const { return !stored_at && fits && (!time || time->count() > 0); }
};

// Plans every point that runs on this machine. Empty for more than `kMostPlanned` points, because planning them would
// take too long. `begin` is called with the index of each point before its plan.
inline constexpr size_t kMostPlanned = 24;
std::vector<ExpectedPoint> expected_points(const std::vector<ResolvedPoint>& points, const KnowledgeOf& knowledge,
                                           const std::function<void(size_t)>& begin = {});

// The estimate of the time left: from the expected times, or in proportion to FLOPs where a point has no expected time.
// None before the first point has run where an expected time is rough.
TimeLeft time_left(const std::vector<ResolvedPoint>& points, const std::vector<ExpectedPoint>& expected);

// "16 points, 4 from the store, measured 2026-01-02 10:15 UTC or later, about 3 min; too large for the memory: large".
// `expected` comes from expected_points; empty if every point is a prediction.
std::string announcement(const std::vector<ResolvedPoint>& points, const std::vector<ExpectedPoint>& expected);

// The names of the points in words, without the words that all of them share: "small ctx 512 bfloat16 compile".
std::vector<std::string> spoken_points(const std::vector<ResolvedPoint>& points);

// "[3/20] small ctx 512: step 4 of 15, about 2 min left"
std::string progress_text(size_t point, size_t points, std::string_view name, const PointProgress& progress,
                          std::optional<Seconds> left);

// "45 s", "12 min", "3.5 h": rounded, because it is an estimate.
std::string rough_time(Seconds time);

// Overwrites one line on a terminal; elsewhere prints a plain line now and then.
class ProgressLine {
 public:
  explicit ProgressLine(const OutputStream& stream) : stream_(stream) {}

  // `now` is a time that advances within a point, such as the time since it began. Off a terminal a new `point` is
  // shown at once, and news of the same one every kPlainInterval.
  void show(size_t point, const std::string& text, Seconds now);
  void clear();  // before anything else is written to the same terminal

 private:
  static constexpr Seconds kPlainInterval{10};
  static std::string fitted(const std::string& text, size_t room);

  OutputStream stream_;
  bool visible_ = false;
  std::optional<size_t> shown_point_;
  Seconds shown_{};
};

// Names the point that is being planned: at once on a terminal, elsewhere after planning has taken a second.
class PlanningLine {
 public:
  // `names`: of the points.
  PlanningLine(const OutputStream& stream, std::vector<std::string> names)
      : stream_(stream), names_(std::move(names)), begun_(host_now()), line_(stream) {}
  ~PlanningLine() { clear(); }
  PlanningLine(const PlanningLine&) = delete;
  PlanningLine& operator=(const PlanningLine&) = delete;

  // `stage` is the work on the point: "plan". Call it again before each plan of a search.
  void show(size_t point, const char* stage) { show(point, stage, host_now() - begun_); }
  void show(size_t point, const char* stage, Seconds taken);
  void clear() { line_.clear(); }  // before anything else is written to the same terminal

 private:
  OutputStream stream_;
  std::vector<std::string> names_;
  Seconds begun_;
  ProgressLine line_;
};

// Names the work on the point that is being planned: "largest batch that fits".
using ShowStage = std::function<void(const char* stage)>;

// Calls take(plan(point, stage)) for one point after the other until all are planned or the user asks to stop, and
// returns how many were planned. A line says which point is being planned; it is cleared before `take` may write.
template <class Plan, class Take>
size_t plan_each(const std::vector<ResolvedPoint>& points, const Plan& plan, const Take& take) {
  const StopSignals signals;
  PlanningLine line(standard_error(), spoken_points(points));
  size_t planned = 0;
  for (; planned < points.size() && !StopSignals::requested(); ++planned) {
    const ShowStage show = [&](const char* stage) { line.show(planned, stage); };
    show("plan");
    auto result = plan(points[planned], show);
    line.clear();
    take(std::move(result));
  }
  return planned;
}

// Success, or a message if the user asked to stop: "interrupted: 1 of 2 points planned".
ExitCode planning_exit(size_t planned, size_t points);

}  // namespace laptime
