// Finds whether and when a series of steps became steady, and the cost of the steps before that.
#pragma once

#include <cstdint>
#include <span>

namespace laptime {

// The rule: the median of five steps differs from the median of the five steps before them by at most 1 %, or by at
// most kSteadyErrors standard errors of such a difference. The standard error is estimated from the noise between
// adjacent steps (as in von Neumann's ratio, 1941), so that a trend does not widen its own tolerance.
inline constexpr int64_t kSteadyWindow = 5;
inline constexpr double kSteadyTolerance = 0.01;
inline constexpr double kSteadyErrors = 2;

enum class Steadiness : uint8_t {
  kUnknown,  // too few steps to apply the rule
  kReached,
  kNotReached,  // not reached up to the last position checked
};

struct SteadyState {
  Steadiness steadiness = Steadiness::kUnknown;
  // Number of steps before the later of the two windows that were compared last. If steady state was reached, these
  // steps are the warm-up.
  int64_t after = 0;
  double change = 0;  // between these windows: (later median - earlier median) / earlier median
};

// Checks each position w = first ... last, comparing steps [w, w + 5) with [w - 5, w), and stops at the first w where
// the rule holds. Unknown if the series ends before position `last` can be checked and the rule holds at no earlier
// position. 5 <= first <= last. `steps` is the whole series in the order of time, from the very first step.
SteadyState find_steady_state(std::span<const double> steps, int64_t first, int64_t last);

// The slow steps at the start of a series.
struct SlowStart {
  int64_t steps = 0;  // number of leading steps that are each more than 1 % above the median
  double excess = 0;  // sum of (step - median) over these steps: the extra time of a cold start
};

// `median` is the median of the samples. If every step is more than 1 % above it, all steps count.
SlowStart find_slow_start(std::span<const double> steps, double median);

}  // namespace laptime
