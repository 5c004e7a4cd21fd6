// PlanningLine: which point is being planned, on standard error, once that takes long enough for somebody to wonder.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/units.h"
#include "cli/command.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "points/expand.h"
#include "sweep/stop_signals.h"

namespace laptime {

// A plan reports no progress of its own, so a thread says every second how long it has taken.
class PlanningLine {
 public:
  PlanningLine(const OutputStream& stream, size_t points);
  ~PlanningLine() { clear(); }
  PlanningLine(const PlanningLine&) = delete;
  PlanningLine& operator=(const PlanningLine&) = delete;

  // `stage` is what is done for the point: "plan".
  void show(size_t point, std::string name, std::string stage);
  // Before anything else is written to the same terminal, and before a fork. The next show() goes on.
  void clear();

 private:
  void keep_showing(const std::stop_token& stop);
  void show_now();  // with mutex_ held

  const size_t points_;
  const Seconds begun_;
  std::mutex mutex_;  // of what follows
  std::condition_variable_any stopped_;
  ProgressLine line_;
  size_t point_ = 0;
  std::string name_;
  std::string stage_;
  Seconds stage_begun_{};
  std::jthread thread_;  // runs from show() until clear()
};

// Calls take(plan(point)) for one point after the other until all are planned or the user asks to stop, and returns how
// many were planned. A line says which point is being planned; it is cleared before `take` may write.
template <class Plan, class Take>
size_t plan_each(const std::vector<SweepPoint>& points, const Plan& plan, const Take& take) {
  const StopSignals signals;
  PlanningLine line(standard_error(), points.size());
  size_t planned = 0;
  for (; planned < points.size() && !StopSignals::requested(); ++planned) {
    line.show(planned, points[planned].name, "plan");
    auto result = plan(points[planned]);
    line.clear();
    take(std::move(result));
  }
  return planned;
}

// What ends the output of a command that Ctrl-C stopped: "interrupted: 1 of 2 points planned".
std::string interrupted_text(size_t planned, size_t points);

// Success, or a message where the user stopped before all points were planned.
ExitCode planning_exit(size_t planned, size_t points);

}  // namespace laptime
