// Estimates the times of points from forecasts of their steps or, if nothing was measured, in proportion to their
// FLOPs.
#include "sweep/duration.h"

#include <algorithm>

#include "base/available_memory.h"
#include "base/error.h"
#include "distribution/stopping_rule.h"
#include "measure/forecast_point.h"
#include "model/parameters.h"
#include "prepare/device.h"

namespace laptime {
namespace {

// Estimated set-up (planning, kernel trial, allocation, weights), in steps.
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
  // Assumes at least one second, or the budget if it is shorter: most medians need that long to become precise.
  return step * kSetupSteps + std::max(step * static_cast<double>(least), std::min(limits.budget, Seconds{1}));
}

// A lower bound of the memory of a step: weights, moments, and gradients unless backward updates the weights.
double least_bytes(const RunConfig& config, double parameters) {
  constexpr double kFloat = sizeof(float);
  if (config.pass == Pass::kForward || config.pass == Pass::kInference) return parameters * kFloat;
  const double gradients = config.optimizer_in_backward ? 0 : kFloat;
  const double moments = config.pass != Pass::kStep ? 0 : config.moments == MomentType::kBFloat16 ? kFloat : 2 * kFloat;
  return parameters * (kFloat + gradients + moments);
}

// The cost of a point: the FLOPs of its steps; 0 if the point cannot run. `summaries` caches the models seen so far.
double cost_of(const ResolvedPoint& point, std::vector<std::pair<ModelConfig, ModelSummary>>& summaries) {
  const RunConfig& config = point.config;
  if (!point.device) return 0;
  const bool forward_only = config.pass == Pass::kForward || config.pass == Pass::kInference;
  constexpr double kPredicted = 1e9;  // predicting a step takes about the same time for any model
  if (point.is_predicted()) return kPredicted;
  const ModelConfig model = config.step_model();
  auto known = std::ranges::find_if(summaries, [&](const auto& one) { return one.first == model; });
  if (known == summaries.end()) known = summaries.insert(known, {model, summarize(model)});
  const ModelSummary& summary = known->second;
  const auto parameters = static_cast<double>(summary.parameter_count);
  // A point that cannot fit in memory ends at once. Ranks may run on other hosts.
  const bool uses_this_memory = !point.device->memory_bytes && config.ranks == 1;
  const AvailableMemory available = uses_this_memory ? available_memory() : AvailableMemory();
  if (available.bytes && least_bytes(config, parameters) > static_cast<double>(*available.bytes)) return 0;
  constexpr double kStepsByDefault = 30;
  const double steps = config.steps ? static_cast<double>(*config.steps + config.warmup.value_or(0)) : kStepsByDefault;
  return summary.forward_flops * (forward_only ? 1 : 3) * (steps + kSetupSteps);
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
      one.time = Seconds{0};  // the point fails before its first step, and its row shows why
    }
  }
  return expected;
}

TimeLeft time_left(const std::vector<ResolvedPoint>& points, const std::vector<ExpectedPoint>& expected) {
  const bool are_known =
      !expected.empty() && std::ranges::all_of(expected, [](const auto& point) { return point.time.has_value(); });
  const bool is_rough =
      std::ranges::any_of(expected, [](const auto& point) { return point.runs() && point.rough.has_value(); });
  std::vector<double> costs;
  costs.reserve(points.size());
  std::vector<std::pair<ModelConfig, ModelSummary>> summaries;
  for (size_t i = 0; i < points.size(); ++i)
    costs.push_back(are_known ? expected[i].time->count() : cost_of(points[i], summaries));
  return TimeLeft(std::move(costs), are_known && !is_rough);
}

}  // namespace laptime
