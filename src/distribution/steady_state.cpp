// The steady-state rule, applied along a series.
#include "distribution/steady_state.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <vector>

#include "base/error.h"
#include "distribution/median.h"

namespace laptime {
namespace {

// Standard error of the difference between the medians of two windows, estimated from the noise between adjacent
// `steps`.
double error_of_difference(std::span<const double> steps) {
  constexpr double kDeviationOfMad = 1.4826;  // standard deviation / median |value| of a normal variable
  // Standard error / standard deviation for the median of five normal variables.
  constexpr double kErrorOfMedianOfFive = 0.536;
  std::vector<double> changes;
  for (size_t i = 1; i < steps.size(); ++i) changes.push_back(std::fabs(steps[i] - steps[i - 1]));
  const double deviation = kDeviationOfMad * median(changes) / std::numbers::sqrt2;
  return std::numbers::sqrt2 * kErrorOfMedianOfFive * deviation;
}

// Compares the windows on both sides of position `at`.
SteadyState compare_windows(std::span<const double> steps, int64_t at) {
  const auto place = static_cast<size_t>(at);
  const auto window = static_cast<size_t>(kSteadyWindow);
  const double earlier = median(steps.subspan(place - window, window));
  const double later = median(steps.subspan(place, window));
  SteadyState state;
  state.after = at;
  if (later != earlier) {
    state.change = earlier == 0 ? std::copysign(std::numeric_limits<double>::infinity(), later)
                                : (later - earlier) / std::fabs(earlier);
  }
  const bool is_steady =
      std::fabs(state.change) <= kSteadyTolerance ||
      std::fabs(later - earlier) <= kSteadyErrors * error_of_difference(steps.subspan(place - window, 2 * window));
  state.steadiness = is_steady ? Steadiness::kReached : Steadiness::kNotReached;
  return state;
}

}  // namespace

SteadyState find_steady_state(std::span<const double> steps, int64_t first, int64_t last) {
  LAPTIME_CHECK(first >= kSteadyWindow && last >= first, "first {} last {}", first, last);
  const auto count = static_cast<int64_t>(steps.size());
  SteadyState state;
  for (int64_t at = first; at <= last; ++at) {
    if (at + kSteadyWindow > count) {
      state.steadiness = Steadiness::kUnknown;
      return state;
    }
    state = compare_windows(steps, at);
    if (state.steadiness == Steadiness::kReached) return state;
  }
  return state;
}

SlowStart find_slow_start(std::span<const double> steps, double median) {
  SlowStart start;
  for (const double step : steps) {
    if (step <= median + kSteadyTolerance * std::fabs(median)) break;
    start.excess += step - median;
    ++start.steps;
  }
  return start;
}

}  // namespace laptime
