// Whether and when a series of steps became steady, and what the steps before that cost.
#pragma once

#include <cstdint>
#include <span>

namespace laptime {

// The rule: the median of five steps differs from the median of the five before them by no more than 1 %, or by no more
// than kSteadyErrors standard errors of such a difference. The noise that gives this error is that between neighbouring
// steps (as in von Neumann's ratio, 1941), so that a trend does not excuse itself.
inline constexpr int64_t kSteadyWindow = 5;
inline constexpr double kSteadyTolerance = 0.01;
inline constexpr double kSteadyErrors = 2;

enum class Steadiness : uint8_t {
  kUnknown,  // too few steps to apply the rule
  kReached,
  kNotReached,  // up to the last place where it was looked for
};

struct SteadyState {
  Steadiness steadiness = Steadiness::kUnknown;
  int64_t after = 0;  // steps before the later five of the windows compared last: the warm-up when it was reached
  double change = 0;  // of those windows, (later median - earlier median) / earlier median
};

// Looks at each place w = first ... last, comparing steps [w, w + 5) with [w - 5, w), and stops at the first w where
// the rule holds. Unknown as long as it holds nowhere yet and steps for place `last` are missing.
// 5 <= first <= last. `steps` is the whole series in the order of time, from the very first step.
SteadyState find_steady_state(std::span<const double> steps, int64_t first, int64_t last);

// The rule on the last ten steps; unknown for fewer. For runs whose warm-up and steps were given.
SteadyState steady_at_end(std::span<const double> steps);

// The start of a series that differs from the rest.
struct SlowStart {
  int64_t steps = 0;  // leading steps, each more than 1 % above the median
  double excess = 0;  // sum of (step - median) over them: what starting cost beyond the steps themselves
};

// `median` is that of the samples the figure is made of. Nothing is left out when every step is slower than it.
SlowStart find_slow_start(std::span<const double> steps, double median);

}  // namespace laptime
