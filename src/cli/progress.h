// Runs and plans the points of a command with their progress shown on standard error.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/host_clock.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "config/sweep.h"
#include "sweep/duration.h"
#include "sweep/run_sweep.h"
#include "sweep/stop_signals.h"

namespace laptime {

// "16 points, 4 from the store, measured 2026-01-02 10:15 UTC or later, about 3 min; too large for memory: large".
// Empty for a single point that is not stored, and if every point is a prediction and fits.
std::string announcement(const std::vector<ResolvedPoint>& points, const std::vector<ExpectedPoint>& expected);

// The points' names in words, omitting words that all of them share: "small ctx 512 bfloat16 compile".
std::vector<std::string> spoken_points(const std::vector<ResolvedPoint>& points);

// "[3/20] small ctx 512: steps, step 4 of 15, 812.4 ms each, about 2 min left"
std::string progress_text(size_t point, size_t points, std::string_view name, const PointProgress& progress,
                          std::optional<Seconds> left);

std::string rough_time(Seconds time);  // "45 s", "12 min", "3.5 h"

// Overwrites one line on a terminal; otherwise prints a plain line occasionally.
class ProgressLine {
 public:
  explicit ProgressLine(const OutputStream& stream) : stream_(stream) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // `now` must not decrease within a point. If the output is not a terminal, a new `point` is shown at once, and
  // updates of the same point every kPlainInterval.
  void show(size_t point, const std::string& text, Seconds now);
  void clear();  // call before writing anything else to the same terminal

 private:
  static constexpr Seconds kPlainInterval{10};
  static constexpr std::string_view kErase = "\r\x1b[K";
  static std::string fitted(const std::string& text, size_t room);

  OutputStream stream_;
  bool visible_ = false;
  std::optional<size_t> shown_point_;
  Seconds shown_{};
};

// Shows the name of the point being planned: at once on a terminal, otherwise once planning has taken a second.
class PlanningLine {
 public:
  PlanningLine(const OutputStream& stream, std::vector<std::string> names)
      : stream_(stream), names_(std::move(names)), begun_(host_now()), line_(stream) {}

  // `stage` names the current work on the point, for example "plan". Call show() again before each plan of a search.
  void show(size_t point, const char* stage) { show(point, stage, host_now() - begun_); }
  void show(size_t point, const char* stage, Seconds taken);
  void clear() { line_.clear(); }  // call before writing anything else to the same terminal

 private:
  OutputStream stream_;
  std::vector<std::string> names_;
  Seconds begun_;
  ProgressLine line_;
};

using ShowStage = std::function<void(const char* stage)>;  // "largest batch that fits"

struct PlannedCount {
  size_t points = 0;
  bool any_failed = false;
};

// Calls take(plan(point, stage)) for each point in turn until all are planned or the user asks to stop. Returns how
// many were planned and, if `plan` returns records, whether any failed. A line shows the point being planned; it is
// cleared before `take` is called.
PlannedCount plan_each(const std::vector<ResolvedPoint>& points, const auto& plan, const auto& take) {
  const StopSignals signals;
  PlanningLine line(standard_error(), spoken_points(points));
  PlannedCount planned;
  for (; planned.points < points.size() && !StopSignals::requested(); ++planned.points) {
    const ShowStage show = [&](const char* stage) { line.show(planned.points, stage); };
    show("plan");
    auto result = plan(points[planned.points], show);
    if constexpr (requires { result.record; })
      planned.any_failed = planned.any_failed || result.record.status == Status::kFailed;
    line.clear();
    take(std::move(result));
  }
  return planned;
}

// The exit code of a command that plans points: kFailed if one failed or if no point is supported, as for a command
// that runs them. Prints a message if the user asked to stop.
ExitCode planning_exit(const PlannedCount& planned, std::span<const ResolvedPoint> points);

// Receives the results of a command's points.
struct PointOutput {
  std::function<void(const PointResult& result)> add{};     // throws OutputLost
  std::function<void()> finish = [] {};                     // called after the last point; throws OutputLost
  std::function<bool()> has_enough = [] { return false; };  // called before each point; true skips the remaining ones
  bool is_announced = false;                                // true if the command itself announces what will run
  std::set<std::string> stored_runs{};  // runs whose records come from the store; a run is added before its record
};

// The store of a command that runs points; none if records are not kept.
std::optional<std::filesystem::path> store_for(const OutputConfig& config);
// Records of points that have not run yet.
std::vector<Record> planned_records(const std::vector<ResolvedPoint>& points);

// Runs the points, which must have passed check_inputs, and returns the command's exit code. `traced_steps` steps of
// each point are traced in addition to its samples. Throws OutputLost.
ExitCode run_watched(const std::vector<ResolvedPoint>& points, const SweepOptions& options, PointOutput& output);
ExitCode run_watched(const std::vector<ResolvedPoint>& points, const Sweep& sweep, int64_t traced_steps,
                     PointOutput& output, const RankPipes& ranks = {});

}  // namespace laptime
