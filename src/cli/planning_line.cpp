// The thread that keeps the line up to date, and how planning ends.
#include "cli/planning_line.h"

#include <fmt/format.h>

#include <chrono>
#include <system_error>
#include <utility>

#include "base/host_clock.h"
#include "base/words.h"
#include "cli/message.h"

namespace laptime {
namespace {

constexpr std::chrono::seconds kSilent{1};  // also the time between two updates

}  // namespace

PlanningLine::PlanningLine(const OutputStream& stream, size_t points)
    : points_(points), begun_(host_now()), line_(stream), stage_begun_(begun_) {}

void PlanningLine::show(size_t point, std::string name, std::string stage) {
  const std::lock_guard lock(mutex_);
  point_ = point;
  name_ = std::move(name);
  stage_ = std::move(stage);
  stage_begun_ = host_now();
  if (stage_begun_ - begun_ >= kSilent) show_now();
  if (thread_.joinable()) return;
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { keep_showing(stop); });
  } catch (const std::system_error&) {
    // Where the system has no room for a thread, the work goes on without a line.
  }
}

void PlanningLine::clear() {
  thread_ = {};  // stops it and waits for its end
  line_.clear();
}

void PlanningLine::keep_showing(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, stop, kSilent, [&] { return stop.stop_requested(); })) show_now();
}

void PlanningLine::show_now() {
  const Seconds now = host_now();
  const Seconds taken = now - stage_begun_;
  const std::string stage = taken < kSilent ? stage_ : fmt::format("{}, {:.0f} s so far", stage_, taken.count());
  line_.show(point_, progress_text(point_, points_, name_, {.stage = stage}, {}), now - begun_);
}

std::string interrupted_text(size_t planned, size_t points) {
  return fmt::format("interrupted: {} of {} planned", planned, counted(points, "point"));
}

ExitCode planning_exit(size_t planned, size_t points) {
  if (planned == points) return ExitCode::kOk;
  print_message(interrupted_text(planned, points));
  return ExitCode::kInterrupted;
}

}  // namespace laptime
