// Decides when to stop, by the default rule or after a fixed number of samples.
#include "distribution/stopping_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <numbers>

#include "base/error.h"
#include "base/words.h"
#include "distribution/bootstrap.h"
#include "distribution/median.h"
#include "distribution/moments.h"
#include "distribution/samples.h"

namespace laptime {
namespace {

constexpr int64_t kFewestToJudgeNoise = 20;

// The distance from the median to the farther end of its 95 % interval, as a fraction of the median.
double half_width(std::span<const double> samples) {
  const std::vector<double> sorted = sorted_samples(samples);
  const double autocorrelation = lag1_autocorrelation(samples, moments_of_sorted(sorted).mean);
  return relative_half_width(bootstrap_median_interval(samples, autocorrelation), median_of_sorted(sorted));
}

// True for the numbers of samples (20, 40, 80, ...) at which the interval is compared with the interval of the first
// half of the samples. So few comparisons seldom stop a run by coincidence.
bool judges_noise_at(int64_t count) {
  const int64_t times = count / kFewestToJudgeNoise;
  return count % kFewestToJudgeNoise == 0 && std::has_single_bit(static_cast<uint64_t>(times));
}

}  // namespace

int64_t steps_per_sample(Seconds step) {
  constexpr double kShortestStep = 5e-9;  // limits a sample of kShortestSample to a million steps
  const double steps = kShortestSample.count() / std::max(step.count(), kShortestStep);
  return std::max<int64_t>(1, std::llround(std::ceil(steps - 1e-9)));
}

std::string_view name_of(StopReason reason) {
  switch (reason) {
    case StopReason::kInterval: return "interval";
    case StopReason::kEnough: return "enough";
    case StopReason::kNoise: return "noise";
    case StopReason::kTime: return "time";
    case StopReason::kSamples: return "samples";
    case StopReason::kFixed: return "fixed";
  }
  return "";
}

StoppingRule::StoppingRule(const SamplingLimits& limits) : limits_(limits) {
  LAPTIME_CHECK(limits.min_warmup >= kSteadyWindow && limits.max_warmup >= limits.min_warmup, "warm-up {} to {}",
                limits.min_warmup, limits.max_warmup);
  LAPTIME_CHECK(limits.min_samples >= 1 && limits.max_samples >= limits.min_samples, "samples {} to {}",
                limits.min_samples, limits.max_samples);
  LAPTIME_CHECK(limits.hurried_warmup >= 0 && limits.hurried_samples >= 1, "hurried: {} and {}", limits.hurried_warmup,
                limits.hurried_samples);
}

StoppingRule StoppingRule::fixed(int64_t warmup, int64_t samples) {
  if (warmup < 0) throw Error::format("cannot warm up for {} steps; give 0 or more", warmup);
  if (samples < 1) throw Error::format("cannot measure {} steps; give 1 or more", samples);
  StoppingRule rule;
  rule.limits_.min_warmup = rule.limits_.max_warmup = warmup;
  rule.limits_.min_samples = rule.limits_.max_samples = samples;
  rule.fixed_ = true;
  return rule;
}

bool StoppingRule::is_hurried(std::span<const double> ends) const {
  return !fixed_ && ends.size() >= 2 && limits_.is_hurried(Seconds{ends[1] - ends[0]});
}

// The longest warm-up allowed: the steps that fit into half of the budget, but at least min_warmup and at most
// max_warmup.
int64_t StoppingRule::last_warmup(std::span<const double> ends) const {
  const auto count = std::min(static_cast<int64_t>(ends.size()), limits_.max_warmup);
  for (int64_t at = limits_.min_warmup; at < count; ++at) {
    if (ends[static_cast<size_t>(at)] > limits_.budget.count() / 2) return at;
  }
  return limits_.max_warmup;
}

std::optional<StopReason> StoppingRule::stop_of(std::span<const double> samples, Seconds spent) const {
  const double width = half_width(samples);
  if (width <= limits_.interval_within) return StopReason::kInterval;
  const Seconds patience = limits_.patience * limits_.budget;
  const bool doubling_helps = width / std::numbers::sqrt2 <= limits_.interval_within;
  if (spent >= patience && width <= limits_.interval_enough && !doubling_helps) return StopReason::kEnough;
  const auto count = static_cast<int64_t>(samples.size());
  if (spent >= 2 * patience && count >= kFewestToJudgeNoise) {
    const bool doubling_is_enough = width / std::numbers::sqrt2 <= limits_.interval_enough;
    if (!doubling_is_enough) return StopReason::kNoise;
    if (judges_noise_at(count) && width >= half_width(samples.first(samples.size() / 2))) return StopReason::kNoise;
  }
  if (spent >= limits_.budget) return StopReason::kTime;
  if (count >= limits_.max_samples) return StopReason::kSamples;
  return std::nullopt;
}

SamplingDecision StoppingRule::decide(std::span<const double> steps, std::span<const double> ends) const {
  LAPTIME_CHECK(steps.size() == ends.size(), "{} steps, {} ends", steps.size(), ends.size());
  const auto taken = static_cast<int64_t>(steps.size());
  if (fixed_) {
    const bool done = taken >= limits_.min_warmup && taken - limits_.min_warmup >= limits_.max_samples;
    return {std::min(taken, limits_.min_warmup), done ? std::optional(StopReason::kFixed) : std::nullopt};
  }
  const bool hurried = is_hurried(ends);
  SamplingDecision decision{std::min(taken, limits_.hurried_warmup), {}};
  if (!hurried) {
    const SteadyState state = find_steady_state(steps, limits_.min_warmup, last_warmup(ends));
    if (state.steadiness == Steadiness::kUnknown)
      return {std::min(taken, std::max(state.after, limits_.min_warmup)), {}};
    decision.warmup = state.after;
  }
  const auto samples = steps.subspan(static_cast<size_t>(decision.warmup));
  const auto count = static_cast<int64_t>(samples.size());
  if (count < (hurried ? limits_.hurried_samples : limits_.min_samples)) return decision;
  decision.stop = stop_of(samples, Seconds{ends.back()});
  return decision;
}

std::string StoppingRule::describe(StopReason reason) const {
  switch (reason) {
    case StopReason::kInterval:
      return fmt::format("the 95 % interval of the median is within {:g} %", 100 * limits_.interval_within);
    case StopReason::kEnough:
      return fmt::format(
          "the 95 % interval of the median is within {:g} %, and twice the samples would not bring it "
          "within {:g} %",
          100 * limits_.interval_enough, 100 * limits_.interval_within);
    case StopReason::kNoise:
      return fmt::format(
          "doubling the samples would not bring the 95 % interval of the median within {:g} %, or did not "
          "narrow it",
          100 * limits_.interval_enough);
    case StopReason::kTime: return fmt::format("the budget of {:g} s", limits_.budget.count());
    case StopReason::kSamples: return counted(limits_.max_samples, "sample");
    case StopReason::kFixed:
      return fmt::format("{} after a warm-up of {}, as asked for", counted(limits_.max_samples, "sample"),
                         limits_.min_warmup);
  }
  return "";
}

}  // namespace laptime
