// SampleSeries: steps timed by another program, split into warm-up and samples.
#include "exec/sampling.h"

#include <gtest/gtest.h>

namespace laptime {
namespace {

// Adds at most `most` back-to-back steps, until the series is done. Step i takes `seconds` * (1 + `growth` * i).
// Returns the number of steps.
size_t add_steps(SampleSeries& series, double seconds, size_t most, double growth = 0) {
  Seconds at{};
  for (size_t i = 0; i < most; ++i) {
    const Seconds step{seconds * (1 + growth * static_cast<double>(i))};
    series.add({{}, at, at + step});
    at += step;
    if (series.is_done()) return i + 1;
  }
  return most;
}

TEST(SampleSeries, EndsWhenItsStoppingRuleIsSatisfied) {
  SampleSeries series(StoppingRule(), false);
  EXPECT_EQ(add_steps(series, 0.01, 100), 15U);
  const Sampling sampling = std::move(series).finish(false);
  EXPECT_EQ(sampling.warmup, 5);
  EXPECT_EQ(sampling.sample_count(), 10);
  EXPECT_EQ(sampling.reason, StopReason::kInterval);
  EXPECT_FALSE(sampling.interrupted);
}

TEST(SampleSeries, TakesAFixedNumberOfShortSteps) {
  SampleSeries series(StoppingRule::fixed(2, 3), true);
  EXPECT_EQ(add_steps(series, 1e-6, 100), 5U);
  const Sampling sampling = std::move(series).finish(false);
  EXPECT_EQ(sampling.steps_per_sample, 1);
  EXPECT_EQ(sampling.reason, StopReason::kFixed);
}

TEST(SampleSeries, ShortStepsShareASample) {
  SampleSeries series(StoppingRule(), false);
  const size_t taken = add_steps(series, 0.001, 1000);
  EXPECT_EQ(taken, 2U + 15 * 5);
  EXPECT_TRUE(series.is_between_samples());
  const Sampling sampling = std::move(series).finish(false);
  EXPECT_EQ(sampling.steps_per_sample, 5);
  EXPECT_EQ(sampling.warmup, 2 + 5 * 5);
  EXPECT_EQ(sampling.sample_count(), 10);
}

// The first third of each step is reported.
TEST(SampleSeries, BatchSizeDependsOnTheReportedPart) {
  SampleSeries series(StoppingRule(), false, [](const Timeline& step) { return step.total() / 3; });
  add_steps(series, 0.003, 1000);
  EXPECT_EQ(std::move(series).finish(false).steps_per_sample, 5);
}

TEST(SampleSeries, DoesNotBatchLongStepsWithAShortReportedPart) {
  SampleSeries series(StoppingRule({.budget = Seconds{1}}), false, [](const Timeline&) { return Seconds{1e-6}; });
  EXPECT_LT(add_steps(series, 0.1, 3000), 20U);
  EXPECT_EQ(std::move(series).finish(false).steps_per_sample, 1);
}

TEST(SampleSeries, SampleIsIncompleteUntilItsLastStep) {
  SampleSeries series(StoppingRule(), false);
  add_steps(series, 0.001, 2);
  EXPECT_TRUE(series.is_between_samples());
  series.add({{}, Seconds{0.002}, Seconds{0.003}});
  EXPECT_FALSE(series.is_between_samples());
}

TEST(SampleSeries, WarmupRunsToItsLimitIfStepTimesKeepGrowing) {
  SampleSeries series(StoppingRule({.budget = Seconds{1000}}), false);
  add_steps(series, 1, 60, 0.1);
  EXPECT_EQ(std::move(series).finish(true).warmup, 30);
}

TEST(SampleSeries, PausesBetweenStepsCountTowardsTheBudget) {
  SampleSeries series(StoppingRule({.budget = Seconds{10}}), false);
  int64_t taken = 0;
  for (; !series.is_done(); ++taken) {
    const Seconds begin{static_cast<double>(taken)};  // steps start one second apart, although they take 10 or 20 ms
    series.add({{}, begin, begin + Seconds{taken % 2 == 0 ? 0.01 : 0.02}});
  }
  EXPECT_EQ(std::move(series).finish(false).reason, StopReason::kTime);
  EXPECT_LE(taken, 12);
}

TEST(SampleSeries, EmptySeriesHasNoSamples) {
  const Sampling sampling = SampleSeries(StoppingRule(), false).finish(true);
  EXPECT_TRUE(sampling.interrupted);
  EXPECT_EQ(sampling.sample_count(), 0);
}

}  // namespace
}  // namespace laptime
