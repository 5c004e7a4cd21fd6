// Passes steps to the stopping rule one at a time, as a real run does.
#include "distribution/stopping_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "base/error.h"
#include "random_samples.h"

namespace laptime {
namespace {

struct StoppedRun {
  std::vector<double> steps;
  std::vector<double> ends;
  SamplingDecision decision;
};

// Takes steps until the rule stops. The clock advances by each step plus `between`.
StoppedRun run_until_stop(const StoppingRule& rule, const std::function<double(int64_t)>& step, double between = 0) {
  StoppedRun run;
  double elapsed = 0;
  while (!run.decision.stop && run.steps.size() < 1000) {
    run.steps.push_back(step(static_cast<int64_t>(run.steps.size())));
    elapsed += run.steps.back() + between;
    run.ends.push_back(elapsed);
    run.decision = rule.decide(run.steps, run.ends);
  }
  return run;
}

// The times at which steps end if no time passes between them.
std::vector<double> ends_of(const std::vector<double>& steps) {
  std::vector<double> ends;
  double elapsed = 0;
  for (const double step : steps) ends.push_back(elapsed += step);
  return ends;
}

TEST(DefaultRule, TakesFiveWarmupStepsAndTenSamplesOfASteadyRun) {
  const StoppedRun run = run_until_stop(StoppingRule(), [](int64_t) { return 0.1; });
  EXPECT_EQ(run.steps.size(), 15U);
  EXPECT_EQ(run.decision.warmup, 5);
  EXPECT_EQ(run.decision.stop, StopReason::kInterval);
}

TEST(DefaultRule, ExtendsWarmupOverASlowStart) {
  const StoppedRun run = run_until_stop(StoppingRule(), [](int64_t i) { return i < 7 ? 0.2 : 0.1; });
  EXPECT_EQ(run.decision.warmup, 10);  // the first step at which the medians of both windows agree
  EXPECT_EQ(run.steps.size(), 20U);
}

TEST(DefaultRule, SamplesUntilTheMedianIsKnown) {
  RandomSamples random(10);
  const StoppedRun run = run_until_stop(StoppingRule(), [&](int64_t) { return 0.1 * (1 + 0.04 * random.normal()); });
  EXPECT_EQ(run.decision.stop, StopReason::kInterval);
  EXPECT_GT(static_cast<int64_t>(run.steps.size()) - run.decision.warmup, 10);
  EXPECT_LT(run.steps.size(), 200U);
}

TEST(DefaultRule, StopsAtTwoHundredSamples) {
  RandomSamples random(11);
  const StoppedRun run = run_until_stop(StoppingRule(), [&](int64_t) { return 0.01 * (1 + 0.5 * random.uniform()); });
  EXPECT_EQ(run.decision.stop, StopReason::kSamples);
  EXPECT_EQ(static_cast<int64_t>(run.steps.size()) - run.decision.warmup, 200);
}

TEST(DefaultRule, StopsWhenTheBudgetIsSpent) {
  // Steps that alternate between 1 and 1.5 s never determine the median within 1 %.
  const auto step = [](int64_t i) { return i % 2 == 0 ? 1.0 : 1.5; };
  for (const double budget : {30.0, 60.0}) {
    const StoppedRun run = run_until_stop(StoppingRule({.budget = Seconds{budget}, .patience = 1}), step);
    EXPECT_EQ(run.decision.stop, StopReason::kTime);
    EXPECT_GE(run.ends.back(), budget);
    EXPECT_LT(run.ends.back(), budget + 2);
  }
}

TEST(DefaultRule, CountsTimeBetweenSteps) {
  const auto step = [](int64_t i) { return i % 2 == 0 ? 1.0 : 1.5; };
  const StoppedRun close = run_until_stop(StoppingRule(), step);
  const StoppedRun apart = run_until_stop(StoppingRule(), step, 1.0);
  EXPECT_EQ(apart.decision.stop, StopReason::kTime);
  EXPECT_LT(apart.steps.size(), close.steps.size());
}

// Only a tenth of each step is reported. The budget applies to the clock, not to the sum of the reported parts.
TEST(DefaultRule, BudgetIncludesUnreportedTime) {
  const auto part = [](int64_t i) { return i % 2 == 0 ? 0.1 : 0.15; };
  const StoppedRun run = run_until_stop(StoppingRule({.patience = 1}), part, 0.9);
  EXPECT_EQ(run.decision.stop, StopReason::kTime);
  EXPECT_GE(run.ends.back(), 30);
  EXPECT_LT(run.ends.back(), 32);
}

// The steps are too long for 5 warm-up steps and 10 samples. The warm-up is shortened, and the number of samples is the
// minimum for an interval.
TEST(DefaultRule, VeryLongStepsHaveAShortWarmupAndFewSamples) {
  const StoppingRule rule;
  const StoppedRun run = run_until_stop(rule, [](int64_t i) { return i % 2 == 0 ? 100.0 : 150.0; });
  EXPECT_EQ(run.decision.stop, StopReason::kTime);
  EXPECT_EQ(run.decision.warmup, 2);
  EXPECT_EQ(run.steps.size(), 8U);
}

// Fifteen steps of 2.1 s or more would exceed the budget of 30 s. The warm-up is shortened, and the samples fill the
// budget.
TEST(DefaultRule, LongStepsFillTheBudget) {
  const StoppedRun run = run_until_stop(StoppingRule(), [](int64_t i) { return i % 2 == 0 ? 2.1 : 2.6; });
  EXPECT_EQ(run.decision.stop, StopReason::kTime);
  EXPECT_EQ(run.decision.warmup, 2);
  EXPECT_GE(run.ends.back(), 30);
  EXPECT_LT(run.ends.back(), 33);
}

TEST(DefaultRule, GivesUpOnSteadyStateAfterThirtySteps) {
  const StoppingRule rule;
  const StoppedRun run = run_until_stop(rule, [](int64_t i) { return 0.01 * static_cast<double>(i + 5); });
  EXPECT_EQ(run.decision.warmup, 30);
}

TEST(DefaultRule, GivesUpOnSteadyStateAfterHalfTheBudget) {
  const StoppingRule rule;
  // Steps of 1, 1.2, 1.4 ... s: eight take 13.6 s, and nine take 16.2 s, which is more than half of the budget.
  const StoppedRun run = run_until_stop(rule, [](int64_t i) { return 1.0 + 0.2 * static_cast<double>(i); });
  EXPECT_EQ(run.decision.warmup, 8);
  EXPECT_EQ(run.decision.stop, StopReason::kTime);
}

// With noise of 7 %, a few seconds of 0.27 s steps determine the median within 5 %. Twice as many steps would not
// determine it within 1 %.
TEST(DefaultRule, StopsIfDoublingTheSamplesWouldNotHelp) {
  RandomSamples random(14);
  const StoppedRun run = run_until_stop(StoppingRule(), [&](int64_t) { return 0.27 * (1 + 0.07 * random.normal()); });
  EXPECT_EQ(run.decision.stop, StopReason::kEnough);
  EXPECT_GE(run.ends.back(), 5);
  EXPECT_LT(run.ends.back(), 12);
}

TEST(DefaultRule, SlowKeepsTheWarmupShortDespiteNoise) {
  RandomSamples random(15);
  int64_t longest = 0;
  for (int trial = 0; trial < 50; ++trial) {
    const StoppedRun run = run_until_stop(StoppingRule(), [&](int64_t) { return 0.05 * (1 + 0.1 * random.normal()); });
    longest = std::max(longest, run.decision.warmup);
  }
  EXPECT_LT(longest, 15);
}

// On a busy machine, even twice as many 0.27 s steps would not determine the median within 5 %.
TEST(DefaultRule, GivesUpIfTheNoiseIsTooLarge) {
  RandomSamples random(17);
  const StoppedRun run =
      run_until_stop(StoppingRule(), [&](int64_t) { return 0.27 * std::exp(0.6 * random.normal()); });
  EXPECT_EQ(run.decision.stop, StopReason::kNoise);
  EXPECT_GE(run.ends.back(), 10);
  EXPECT_LT(run.ends.back(), 15);
}

// The machine steadily gets slower and noisier.
TEST(DefaultRule, StopsIfSamplesDoNotNarrowTheInterval) {
  RandomSamples random(16);
  const StoppedRun run = run_until_stop(StoppingRule(), [&](int64_t i) {
    const double unevenness = 0.02 * static_cast<double>(i);
    return 0.27 * (1 + unevenness * random.uniform());
  });
  EXPECT_EQ(run.decision.stop, StopReason::kNoise);
  EXPECT_GE(run.ends.back(), 10);
  EXPECT_LT(run.ends.back(), 30);
}

TEST(DefaultRule, SlowNeverChangesTheWarmupOnceKnown) {
  RandomSamples random(12);
  for (int trial = 0; trial < 20; ++trial) {
    const StoppingRule rule;
    std::vector<double> steps;
    std::optional<int64_t> warmup;
    for (int i = 0; i < 60; ++i) {
      steps.push_back(0.1 * (1 + 0.03 * random.normal() + (i < 8 ? 0.5 : 0)));
      const SamplingDecision decision = rule.decide(steps, ends_of(steps));
      EXPECT_LE(decision.warmup, static_cast<int64_t>(steps.size()));
      if (find_steady_state(steps, 5, 30).steadiness != Steadiness::kUnknown) {
        EXPECT_EQ(decision.warmup, warmup.value_or(decision.warmup));
        warmup = decision.warmup;
      }
    }
    EXPECT_TRUE(warmup.has_value());
  }
}

TEST(DefaultRule, DescribesAndNamesStopReasons) {
  const StoppingRule rule;
  EXPECT_EQ(rule.describe(StopReason::kInterval), "the 95 % interval of the median is within 1 %");
  EXPECT_EQ(rule.describe(StopReason::kEnough),
            "the 95 % interval of the median is within 5 %, and twice the samples would not bring it within 1 %");
  EXPECT_EQ(rule.describe(StopReason::kTime), "the budget of 30 s");
  EXPECT_EQ(rule.describe(StopReason::kSamples), "200 samples");
  EXPECT_EQ(StoppingRule::fixed(1, 5).describe(StopReason::kFixed), "5 samples after a warm-up of 1, as asked for");
  EXPECT_EQ(name_of(StopReason::kInterval), "interval");
  EXPECT_EQ(name_of(StopReason::kEnough), "enough");
  EXPECT_EQ(name_of(StopReason::kNoise), "noise");
  EXPECT_EQ(name_of(StopReason::kFixed), "fixed");
}

TEST(DefaultRule, RejectsNaN) {
  std::vector<double> steps(15, 0.1);
  steps[7] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(StoppingRule().decide(steps, std::vector<double>(15, 2.0)), Error);
}

TEST(FixedRule, IsFollowedExactly) {
  for (const int64_t warmup : {0, 1, 5}) {
    for (const int64_t samples : {1, 5, 300}) {
      const StoppedRun run =
          run_until_stop(StoppingRule::fixed(warmup, samples), [](int64_t i) { return 10.0 + i % 7; });
      EXPECT_EQ(static_cast<int64_t>(run.steps.size()), warmup + samples);
      EXPECT_EQ(run.decision.warmup, warmup);
      EXPECT_EQ(run.decision.stop, StopReason::kFixed);
    }
  }
}

TEST(FixedRule, RejectsInvalidCounts) {
  EXPECT_THROW(StoppingRule::fixed(-1, 5), Error);
  EXPECT_THROW(StoppingRule::fixed(5, 0), Error);
}

TEST(StepsPerSample, FillFiveMilliseconds) {
  EXPECT_EQ(steps_per_sample(Seconds(1)), 1);
  EXPECT_EQ(steps_per_sample(Seconds(5e-3)), 1);
  EXPECT_EQ(steps_per_sample(Seconds(4.9e-3)), 2);
  EXPECT_EQ(steps_per_sample(Seconds(1e-3)), 5);
  EXPECT_EQ(steps_per_sample(Seconds(3e-6)), 1667);
  EXPECT_EQ(steps_per_sample(Seconds(0)), 1'000'000);
}

}  // namespace
}  // namespace laptime
