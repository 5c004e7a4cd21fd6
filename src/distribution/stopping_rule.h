// When to stop sampling: a decision from the steps timed so far, made without a clock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/units.h"
#include "distribution/steady_state.h"

namespace laptime {

// Timer ticks and interrupts dominate a sample shorter than this. The default rule times several steps as one
// sample until it is reached; where the number of steps was given, a sample stays one step and is flagged.
inline constexpr Seconds kShortestSample{5e-3};

// How many steps make a sample of at least kShortestSample, for steps that take `step`: 1 for longer ones; 1,000,000 at
// most. A step of no measurable length counts as 5 ns.
int64_t steps_per_sample(Seconds step);

// The default rule's numbers.
struct SamplingLimits {
  Seconds budget{30};  // for warm-up and samples; warm-up ends where half of it is spent
  int64_t min_warmup = 5;
  int64_t max_warmup = 30;  // where steady state is given up
  int64_t min_samples = 10;
  int64_t max_samples = 200;
  double interval_within = 0.01;  // 95 % interval of the median, each end as a fraction of the median
  // Good enough where twice the samples would not reach interval_within either, once `patience` of the budget is spent.
  double interval_enough = 0.05;
  double patience = 1.0 / 6;
  // The least where min_warmup and min_samples do not fit into the budget: as many samples as an interval needs.
  int64_t hurried_warmup = 2;
  int64_t hurried_samples = 6;

  bool is_hurried(Seconds step) const { return step * static_cast<double>(min_warmup + min_samples) > budget; }
};

enum class StopReason : uint8_t {
  kInterval,  // the median is known well enough
  kEnough,    // it is known fairly, and twice the samples would not make it known well
  kNoise,     // it is known roughly, and twice the samples would not make it known fairly
  kTime,      // the budget is spent
  kSamples,
  kFixed,  // as many as were asked for
};

std::string_view name_of(StopReason reason);  // "interval", "enough", "noise", "time", "samples", "fixed"

// What is known after some steps.
struct SamplingDecision {
  int64_t warmup = 0;              // of the steps so far, how many count as warm-up; the others are samples
  std::optional<StopReason> stop;  // none: take another step
};

// Warm-up and samples are one series of steps, all timed alike. The rule splits it.
//
// By default warm-up ends at the first place from min_warmup on where the steady-state rule holds (the five steps after
// it are then the first samples), at the latest where a limit of warm-up is reached. Sampling stops at min_samples or
// more when one of these holds; the first in this order is the reason:
// - interval: the interval of the median is within interval_within;
// - enough: patience is spent, the interval is within interval_enough, and would be beyond interval_within with twice
//   the samples too, as it shrinks with their square root;
// - noise: twice the patience is spent, and with 20 samples or more twice as many would leave the interval beyond
//   interval_enough, or that of 20, 40, 80 or 160 samples is no narrower than that of the first half of them;
// - time: the budget is spent;
// - samples: there are max_samples.
// If by the time of the second step the least number of steps does not fit into the budget, the run is hurried:
// hurried_warmup, and hurried_samples or more. A fixed rule takes exactly what was asked for.
class StoppingRule {
 public:
  explicit StoppingRule(const SamplingLimits& limits = {});
  static StoppingRule fixed(int64_t warmup, int64_t samples);  // Error unless warmup >= 0 and samples >= 1

  // `steps`: seconds of each step (or batch of steps, undivided) so far, in order, each a finite number; where a part
  // of the step is reported, of that part. `ends`: wall clock at the end of each since the first of them began, which
  // counts whatever else a step does and what happens between steps.
  SamplingDecision decide(std::span<const double> steps, std::span<const double> ends) const;

  // "the 95 % interval of the median is within 1 %", "the budget of 30 s", "200 samples", "10 samples, as asked for".
  std::string describe(StopReason reason) const;

 private:
  int64_t last_warmup(std::span<const double> ends) const;
  bool is_hurried(std::span<const double> ends) const;
  std::optional<StopReason> stop_of(std::span<const double> samples, Seconds spent) const;

  SamplingLimits limits_;
  bool fixed_ = false;
};

}  // namespace laptime
