// The steady-state rule on series for which the correct answer is known.
#include "distribution/steady_state.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace laptime {
namespace {

std::vector<double> series(std::vector<double> start, int64_t steady) {
  start.insert(start.end(), static_cast<size_t>(steady), 1.0);
  return start;
}

TEST(SteadyState, IsReachedImmediatelyByAConstantSeries) {
  const SteadyState state = find_steady_state(series({}, 10), 5, 30);
  EXPECT_EQ(state.steadiness, Steadiness::kReached);
  EXPECT_EQ(state.after, 5);
  EXPECT_EQ(state.change, 0);
}

TEST(SteadyState, IgnoresOneSlowFirstStep) {
  EXPECT_EQ(find_steady_state(series({9}, 9), 5, 30).steadiness, Steadiness::kReached);
}

TEST(SteadyState, WaitsForTheEndOfASlowStart) {
  // Steps 0 to 6 are slow, so the first window with a fast median is steps 5 to 9, which include two slow ones.
  const SteadyState state = find_steady_state(series({2, 2, 2, 2, 2, 2, 2}, 20), 5, 30);
  EXPECT_EQ(state.steadiness, Steadiness::kReached);
  EXPECT_EQ(state.after, 10);
}

TEST(SteadyState, IsUnknownIfThereAreTooFewSteps) {
  EXPECT_EQ(find_steady_state(series({}, 9), 5, 30).steadiness, Steadiness::kUnknown);
  const SteadyState state = find_steady_state(series({2, 2, 2, 2, 2}, 5), 5, 30);
  EXPECT_EQ(state.steadiness, Steadiness::kUnknown);
  EXPECT_EQ(state.after, 5);
  EXPECT_DOUBLE_EQ(state.change, -0.5);
}

TEST(SteadyState, IsNotReachedByAGrowingSeries) {
  std::vector<double> steps(100);
  std::iota(steps.begin(), steps.end(), 100);  // the medians of consecutive windows differ by 5
  const SteadyState state = find_steady_state(steps, 5, 30);
  EXPECT_EQ(state.steadiness, Steadiness::kNotReached);
  EXPECT_EQ(state.after, 30);
  EXPECT_DOUBLE_EQ(state.change, 5.0 / 127);  // medians 127 and 132
}

TEST(SteadyState, LimitIsOnePercent) {
  const std::vector<double> inside{1000, 1000, 1000, 1000, 1000, 1010, 1010, 1010, 1010, 1010};
  const std::vector<double> outside{1000, 1000, 1000, 1000, 1000, 1011, 1011, 1011, 1011, 1011};
  EXPECT_EQ(find_steady_state(inside, 5, 5).steadiness, Steadiness::kReached);
  EXPECT_EQ(find_steady_state(outside, 5, 5).steadiness, Steadiness::kNotReached);
}

TEST(SteadyState, ToleratesNoiseBetweenNeighbours) {
  // The halves have the medians 1.00 and 1.09.
  const std::vector<double> noisy{1.00, 1.10, 0.95, 1.08, 0.97, 1.09, 1.11, 0.96, 1.10, 0.98};
  EXPECT_EQ(find_steady_state(noisy, 5, 5).steadiness, Steadiness::kReached);
  const std::vector<double> falling{1.20, 1.17, 1.15, 1.12, 1.10, 1.07, 1.05, 1.03, 1.01, 1.00};
  EXPECT_EQ(find_steady_state(falling, 5, 5).steadiness, Steadiness::kNotReached);
}

TEST(SlowStart, CountsTheLeadingSlowSteps) {
  const SlowStart start = find_slow_start(std::vector<double>{3.0, 1.5, 1.005, 1.0, 2.0, 1.0}, 1.0);
  EXPECT_EQ(start.steps, 2);
  EXPECT_DOUBLE_EQ(start.excess, 2.5);
}

TEST(SlowStart, IsZeroForASteadySeries) {
  const SlowStart start = find_slow_start(series({}, 5), 1.0);
  EXPECT_EQ(start.steps, 0);
  EXPECT_EQ(start.excess, 0);
}

TEST(SlowStart, IsZeroWithoutSteps) { EXPECT_EQ(find_slow_start({}, 1.0).steps, 0); }

}  // namespace
}  // namespace laptime
