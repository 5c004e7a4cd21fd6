// Plans points before they run, and says how long they take.
#include "cli/expected_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "base/available_memory.h"
#include "base/error.h"
#include "base/words.h"
#include "distribution/stopping_rule.h"
#include "measure/forecast_point.h"
#include "model/parameters.h"
#include "prepare/device.h"
#include "report/names.h"

namespace laptime {

namespace {

// Plan, kernel trial, memory and weights, in steps. An estimate.
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

// The summary of each model of a sweep, made once.
class Summaries {
 public:
  const ModelSummary& of(const ModelConfig& model) {
    const auto found = std::find_if(made_.begin(), made_.end(), [&](const auto& one) { return one.first == model; });
    if (found != made_.end()) return found->second;
    return made_.emplace_back(model, summarize(model)).second;
  }

 private:
  std::deque<std::pair<ModelConfig, ModelSummary>> made_;
};

// What a point costs in any unit: the FLOPs of its steps.
double cost_of(const ResolvedPoint& point, Summaries& summaries) {
  const RunConfig& config = point.config;
  if (!point.device) return 0;
  const bool forward_only = config.pass == Pass::kForward || config.pass == Pass::kInference;
  constexpr double kPredicted = 1e9;  // a predicted step takes the same time for any model
  if (point.is_predicted()) return kPredicted;
  const ModelSummary& summary = summaries.of(config.step_model());
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
  Summaries summaries;
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
