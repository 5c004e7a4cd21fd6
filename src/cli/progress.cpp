// Plans of points before they run, estimates of the time left, and the control codes that overwrite a line.
#include "cli/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/available_memory.h"
#include "base/error.h"
#include "base/words.h"
#include "cli/destination.h"
#include "distribution/stopping_rule.h"
#include "measure/forecast_point.h"
#include "model/parameters.h"
#include "prepare/device.h"
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

// Shortens the name of the point, which stands between "[1/2] " and ": ", on a narrow terminal.
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

void PlanningLine::show(size_t point, const char* stage, Seconds taken) {
  constexpr Seconds kSilent{1};
  if (!stream_.is_terminal && taken < kSilent) return;
  line_.show(point, progress_text(point, names_.size(), names_[point], {.stage = stage}, {}), taken);
}

ExitCode planning_exit(size_t planned, size_t points) {
  if (planned == points && !StopSignals::requested()) return ExitCode::kOk;
  print_message(fmt::format("interrupted: {} of {} planned", planned, counted(points, "point")));
  return ExitCode::kInterrupted;
}

namespace {

// The estimated time of plan, kernel trial, memory and weights, in steps.
constexpr double kSetupSteps = 3;

Seconds time_of(const RunConfig& config, Seconds step) {
  if (config.steps) {
    const auto steps = static_cast<double>(config.warmup.value_or(0) + *config.steps);
    return step * (steps + kSetupSteps);
  }
  const SamplingLimits limits{.budget = Seconds{config.budget}};
  const bool hurried = limits.is_hurried(step);
  const int64_t least =
      hurried ? limits.hurried_warmup + limits.hurried_samples : limits.min_warmup + limits.min_samples;
  // The median of most points is known in less than the budget, but not in less than a second.
  return step * kSetupSteps + std::max(step * static_cast<double>(least), std::min(limits.budget, Seconds{1}));
}

// The cost of a point: the FLOPs of its steps.
// `summaries` has those of the models seen so far.
double cost_of(const ResolvedPoint& point, std::vector<std::pair<ModelConfig, ModelSummary>>& summaries) {
  const RunConfig& config = point.config;
  if (!point.device) return 0;
  const bool forward_only = config.pass == Pass::kForward || config.pass == Pass::kInference;
  constexpr double kPredicted = 1e9;  // a predicted step takes the same time for any model
  if (point.is_predicted()) return kPredicted;
  const ModelConfig model = config.step_model();
  auto known = std::find_if(summaries.begin(), summaries.end(), [&](const auto& one) { return one.first == model; });
  if (known == summaries.end()) known = summaries.insert(known, {model, summarize(model)});
  const ModelSummary& summary = known->second;
  const auto parameters = static_cast<double>(summary.parameter_count);
  // A point that cannot fit ends at once: weights, gradients, and two moments of the optimizer.
  const double copies = forward_only ? 1 : config.pass == Pass::kStep ? 4 : 2;
  const AvailableMemory available = available_memory();
  if (available.bytes && parameters * copies * sizeof(float) > static_cast<double>(*available.bytes)) return 0;
  constexpr double kStepsByDefault = 30;
  const double steps = config.steps ? static_cast<double>(*config.steps + config.warmup.value_or(0)) : kStepsByDefault;
  return static_cast<double>(summary.forward_flops) * (forward_only ? 1 : 3) * (steps + kSetupSteps);
}

}  // namespace

std::vector<ExpectedPoint> expected_points(const std::vector<ResolvedPoint>& points, const KnowledgeOf& knowledge,
                                           const std::function<void(size_t)>& begin) {
  if (points.size() > kMostPlanned) return {};
  std::vector<ExpectedPoint> expected;
  for (const ResolvedPoint& point : points) {
    ExpectedPoint& one = expected.emplace_back();
    if (!point.is_measured()) {
      one.time = Seconds{0};
      continue;
    }
    if (begin) begin(expected.size() - 1);
    try {
      const Prepared prepared = prepare(point.config, *point.device, knowledge(point.device_key));
      one.fits = prepared.shortage.empty();
      if (!one.fits) {
        one.time = Seconds{0};
      } else if (const auto step = predicted_step_time(prepared, knowledge)) {
        one.time = time_of(point.config, step->time);
        if (step->rough)
          one.rough = {time_of(point.config, step->rough->first), time_of(point.config, step->rough->second)};
      }
    } catch (const Error&) {
      one.time = Seconds{0};  // the point fails before its first step, and its row says why
    }
  }
  return expected;
}

TimeLeft time_left(const std::vector<ResolvedPoint>& points, const std::vector<ExpectedPoint>& expected) {
  const bool are_known = !expected.empty() && std::all_of(expected.begin(), expected.end(),
                                                          [](const auto& point) { return point.time.has_value(); });
  const bool is_rough = std::any_of(expected.begin(), expected.end(),
                                    [](const auto& point) { return point.runs() && point.rough.has_value(); });
  std::vector<double> costs;
  costs.reserve(points.size());
  std::vector<std::pair<ModelConfig, ModelSummary>> summaries;
  for (size_t i = 0; i < points.size(); ++i)
    costs.push_back(are_known ? expected[i].time->count() : cost_of(points[i], summaries));
  return TimeLeft(std::move(costs), are_known && !is_rough);
}

std::string announcement(const std::vector<ResolvedPoint>& points, const std::vector<ExpectedPoint>& expected) {
  Seconds whole{0};
  Seconds low{0};
  Seconds high{0};
  bool is_rough = false;
  size_t stored = 0;
  std::string oldest;  // date of the oldest of the stored
  bool is_known = !expected.empty();
  std::vector<std::string> too_large;
  const std::vector<std::string> names = spoken_points(points);
  for (size_t i = 0; i < expected.size(); ++i) {
    is_known = is_known && expected[i].time.has_value();
    const Seconds time = expected[i].time.value_or(Seconds{0});
    const bool is_guess = expected[i].runs() && expected[i].rough.has_value();
    whole += time;
    low += is_guess ? expected[i].rough->first : time;
    high += is_guess ? expected[i].rough->second : time;
    is_rough = is_rough || is_guess;
    if (const auto& stored_at = expected[i].stored_at) {
      ++stored;
      if (oldest.empty() || *stored_at < oldest) oldest = *stored_at;
    } else if (!expected[i].fits) {
      too_large.push_back(names[i]);
    }
  }
  const bool runs = !is_known || whole.count() > 0;
  const bool says_more = points.size() > 1 || stored > 0;  // the progress line and the row of one point say the same
  if (!says_more || (!runs && too_large.empty() && stored == 0)) return "";
  std::string text = counted(points.size(), "point");
  if (stored > 0) {
    text += fmt::format(", {} from the store, measured {}{}", stored == points.size() ? "all" : std::to_string(stored),
                        minute_of(oldest), stored > 1 ? " or later" : "");
  }
  if (is_known && runs) text += fmt::format(", about {}", rough_time(whole));
  if (is_known && runs && is_rough) text += fmt::format(" ({} to {})", rough_time(low), rough_time(high));
  if (!is_known && !expected.empty()) text += ", duration unknown";
  constexpr size_t kNamed = 3;
  if (!too_large.empty()) {
    const size_t more = too_large.size() - std::min(kNamed, too_large.size());
    too_large.resize(too_large.size() - more);
    text += fmt::format("; too large for the memory: {}{}", joined(too_large, ", "),
                        more > 0 ? fmt::format(" and {} more", more) : "");
  }
  return text;
}

}  // namespace laptime
