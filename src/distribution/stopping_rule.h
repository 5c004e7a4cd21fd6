// Decides from the times of the steps so far when to stop sampling, without reading a clock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/units.h"
#include "distribution/steady_state.h"

namespace laptime {

// Timer ticks and interrupts dominate a sample shorter than this. The default rule combines several steps into one
// sample until this length is reached. If the number of steps is given, a sample remains one step and is flagged.
inline constexpr Seconds kShortestSample{5e-3};

// The number of steps that make a sample of at least kShortestSample, if a step takes `step`: 1 for long steps, at most
// 1,000,000. A step without a measurable length counts as 5 ns.
int64_t steps_per_sample(Seconds step);

// The parameters of the default rule.
struct SamplingLimits {
  Seconds budget{30};  // time for warm-up and samples; after min_warmup, warm-up ends when half of it is spent
  int64_t min_warmup = 5;
  int64_t max_warmup = 30;  // warm-up ends here even if the steps are not steady yet
  int64_t min_samples = 10;
  int64_t max_samples = 200;
  // The distance from the median to the farther end of its 95 % interval, as a fraction of the median.
  double interval_within = 0.01;
  // A wider limit, which suffices once the fraction `patience` of the budget is spent and twice the samples would not
  // reach interval_within.
  double interval_enough = 0.05;
  double patience = 1.0 / 6;
  // Used instead of min_warmup and min_samples if these do not fit into the budget. hurried_samples is the smallest
  // number of samples that gives an interval.
  int64_t hurried_warmup = 2;
  int64_t hurried_samples = 6;

  bool is_hurried(Seconds step) const { return step * static_cast<double>(min_warmup + min_samples) > budget; }
};

enum class StopReason : uint8_t {
  kInterval,  // the interval of the median is within interval_within
  kEnough,    // the interval is within interval_enough, and twice the samples would not reach interval_within
  kNoise,     // twice the samples would not reach interval_enough, or doubling them did not narrow the interval
  kTime,      // the budget is spent
  kSamples,
  kFixed,  // the requested number of samples
};

std::string_view name_of(StopReason reason);  // "interval", "enough", "noise", "time", "samples", "fixed"

// The decision after a number of steps.
struct SamplingDecision {
  int64_t warmup = 0;              // how many of the steps so far are warm-up; the others are samples
  std::optional<StopReason> stop;  // none: take another step
};

// Warm-up and samples are one series of steps, all timed alike. The rule decides where the samples begin.
//
// By default, warm-up ends at the first step from min_warmup on where the steady-state rule holds (the five steps after
// it are then the first samples), or at the limit of warm-up. Sampling stops after at least min_samples samples, for
// the first of these reasons that applies:
// - interval: the interval of the median is within interval_within;
// - enough: the fraction `patience` of the budget is spent, the interval is within interval_enough, and twice the
//   samples, which narrow the interval by a factor of sqrt(2), would not bring it within interval_within;
// - noise: twice that fraction is spent, there are at least 20 samples, and either twice as many would not bring the
//   interval within interval_enough, or, at 20, 40, 80 or 160 samples, the interval is no narrower than that of
//   the first half of the samples;
// - time: the budget is spent;
// - samples: there are max_samples.
// If the second step shows that the minimum number of steps does not fit into the budget, the run is hurried: it takes
// hurried_warmup steps and then at least hurried_samples samples. A fixed rule takes exactly the requested numbers.
class StoppingRule {
 public:
  explicit StoppingRule(const SamplingLimits& limits = {});
  static StoppingRule fixed(int64_t warmup, int64_t samples);  // throws Error unless warmup >= 0 and samples >= 1

  // `steps`: seconds of each step (or batch of steps, not divided by its size) so far, in order, each a finite number.
  // If only a part of a step is reported, these are the times of that part. `ends`: wall-clock seconds from the start
  // of the first step to the end of each one, including unreported parts and the time between steps.
  SamplingDecision decide(std::span<const double> steps, std::span<const double> ends) const;

  // "the 95 % interval of the median is within 1 %", "the budget of 30 s", "200 samples", "10 samples after a warm-up
  // of 5, as asked for".
  std::string describe(StopReason reason) const;

 private:
  int64_t last_warmup(std::span<const double> ends) const;
  bool is_hurried(std::span<const double> ends) const;
  std::optional<StopReason> stop_of(std::span<const double> samples, Seconds spent) const;

  SamplingLimits limits_;
  bool fixed_ = false;
};

}  // namespace laptime
