// Estimates of the time left, the control codes that overwrite a line, and the thread that keeps a plan's line up to
// date.
#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <system_error>

#include "base/host_clock.h"
#include "base/words.h"
#include "cli/destination.h"
#include "cli/terminal.h"
#include "report/names.h"
#include "table/text.h"

namespace laptime {

namespace {

constexpr std::string_view kErase = "\r\x1b[K";
constexpr double kSecondsInMinute = 60;
constexpr double kSecondsInHour = 3600;

void write_softly(int descriptor, std::string_view text) {
  try {
    write_all(descriptor, text, "standard error");
  } catch (const OutputLost&) {
    return;  // nobody watches, and no result is lost
  }
}

}  // namespace

void TimeLeft::finished(size_t point, Seconds took) {
  done_.at(point) = true;
  known_cost_ += costs_.at(point);
  known_time_ += took;
}

void TimeLeft::skipped(size_t point) { done_.at(point) = true; }

std::optional<Seconds> TimeLeft::estimate(size_t point, std::optional<Seconds> of_point, Seconds elapsed) const {
  double cost = known_cost_;
  Seconds time = known_time_;
  if (of_point) {
    cost += costs_.at(point);
    time += elapsed + *of_point;
  }
  const bool was_seen = cost > 0 && time.count() > 0;
  if (!was_seen && !are_seconds_) return std::nullopt;
  const Seconds unit = was_seen ? time / cost : Seconds{1};
  Seconds left = of_point.value_or(std::max(Seconds{0}, unit * costs_.at(point) - elapsed));
  for (size_t i = 0; i < costs_.size(); ++i) left += done_[i] || i == point ? Seconds{0} : unit * costs_[i];
  return left;
}

std::string rough_time(Seconds time) {
  const double seconds = time.count();
  if (seconds < 2 * kSecondsInMinute) return fmt::format("{:.0f} s", std::ceil(seconds));
  if (seconds < 2 * kSecondsInHour) return fmt::format("{:.0f} min", seconds / kSecondsInMinute);
  return fmt::format("{:.1f} h", seconds / kSecondsInHour);
}

std::vector<std::string> spoken_points(const std::vector<ResolvedPoint>& points) {
  std::vector<std::string> names;
  names.reserve(points.size());
  for (const ResolvedPoint& point : points) names.push_back(point.name);
  const std::string common = common_words(names);
  for (std::string& name : names) name = spoken_name(name, common);
  return names;
}

std::string progress_text(size_t point, size_t points, std::string_view name, const PointProgress& progress,
                          std::optional<Seconds> left) {
  std::string text = fmt::format("[{}/{}] {}: ", point + 1, points, name);
  if (progress.done == 0) {
    text += progress.stage;
  } else {
    text += fmt::format("{}, step {}", progress.stage, progress.done);
    if (progress.expected > 0) text += fmt::format(" of {}", progress.expected);
    text += fmt::format(", {} each", format_seconds(progress.step_seconds));
  }
  if (left) text += fmt::format(", about {} left", rough_time(*left));
  return text;
}

// On a narrow terminal the name of the point gives way, which stands between "[1/2] " and ": ".
std::string ProgressLine::fitted(const std::string& text, size_t room) {
  if (text.size() <= room) return text;
  constexpr std::string_view kGap = "...";
  const size_t begin = text.find("] ");
  const size_t end = text.find(": ", begin);
  if (begin == std::string::npos || end == std::string::npos) return text.substr(0, room);
  const size_t name = begin + 2;
  const size_t excess = text.size() - room + kGap.size();
  const size_t kept = end - name > excess ? end - name - excess : 0;
  return (text.substr(0, name + kept) + std::string(kGap) + text.substr(end)).substr(0, room);
}

void ProgressLine::show(size_t point, const std::string& text, Seconds now) {
  const std::string safe = printable(text, /*ascii=*/true);  // a byte is a column: it may be cut anywhere
  if (stream_.is_terminal) {
    const size_t room = stream_.width > 1 ? stream_.width - 1 : safe.size();
    write_softly(stream_.descriptor, std::string(kErase) + fitted(safe, room));
    visible_ = true;
    return;
  }
  if (shown_point_ == point && now - shown_ < kPlainInterval) return;
  shown_point_ = point;
  shown_ = now;
  write_softly(stream_.descriptor, safe + "\n");
}

void ProgressLine::clear() {
  if (visible_) write_softly(stream_.descriptor, kErase);
  visible_ = false;
}

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
