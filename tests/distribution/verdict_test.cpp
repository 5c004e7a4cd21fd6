// Each stability level of a verdict, with an observation that causes it.
#include "distribution/verdict.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "random_samples.h"

namespace laptime {
namespace {

Observations observe(const std::vector<double>& samples) {
  Observations seen;
  seen.summary = summarize(samples);
  seen.samples = samples;
  seen.shortest_timed = Seconds(seen.summary.min);
  return seen;
}

std::string all_reasons(const Judgement& judgement) {
  std::string text;
  for (const std::string& reason : judgement.reasons) text += reason + "\n";
  return text;
}

// Twelve samples within 0.1 % of 1 s.
const std::vector<double> kCalm{1.000, 1.001, 0.999, 1.000, 1.001, 1.000, 0.999, 1.000, 1.001, 1.000, 1.000, 0.999};

TEST(Verdict, EachLevelHasItsOwnMeaning) {
  std::set<std::string_view> meanings;
  for (const StabilityWord& word : stability_words()) meanings.insert(word.meaning);
  EXPECT_EQ(meanings.size(), 5U);
  EXPECT_FALSE(meanings.contains(""));
}

TEST(Verdict, StableHasNoReasons) {
  const Judgement judgement = judge(observe(kCalm));
  EXPECT_EQ(judgement.stability, Stability::kStable);
  EXPECT_TRUE(judgement.reasons.empty()) << all_reasons(judgement);
}

std::vector<double> rising(double each) {
  std::vector<double> samples(40);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = 1 + each * static_cast<double>(i);
  return samples;
}

TEST(Verdict, TrendIsReportedBeforeLostTime) {
  const std::vector<double> samples = rising(0.0019);
  Observations seen = observe(samples);
  const std::vector<double> waiting(samples.size(), 0.5);
  seen.waiting_fractions = waiting;
  const Judgement judgement = judge(seen);
  EXPECT_EQ(judgement.stability, Stability::kNoSteadyState);
  ASSERT_EQ(judgement.reasons.size(), 3U) << all_reasons(judgement);
  EXPECT_EQ(judgement.reasons[0], "the samples rise by 7.1 % from the first to the last (limit 5 %)");
}

TEST(Verdict, TrendOfAFewPercentIsNoisy) {
  const Judgement judgement = judge(observe(rising(0.0008)));
  EXPECT_EQ(judgement.stability, Stability::kNoisy);
  EXPECT_EQ(all_reasons(judgement), "the samples rise by 3.1 % from the first to the last (limit 2 %)\n");
  EXPECT_EQ(judge(observe(rising(0.0004))).stability, Stability::kStable);  // a rise of 1.6 %
}

// With noise of 4 %, medians of five samples usually differ by more than 1 %. Such noise must not count as drift.
TEST(Verdict, NoiseDoesNotCountAsDrift) {
  RandomSamples random(30);
  int drifting = 0;
  for (int trial = 0; trial < 200; ++trial)
    drifting += judge(observe(random.normals(40, 1, 0.04))).stability == Stability::kNoSteadyState ? 1 : 0;
  EXPECT_LE(drifting, 4);
}

// Samples as in a quickstart run on a shared machine: a median of 143.6 ms, and two slow steps.
TEST(Verdict, PreciseMedianWithTwoSlowStepsIsNoisy) {
  const std::vector<double> samples{0.1436, 0.1417, 0.1453, 0.1430, 0.1428, 0.1441, 0.2011, 0.1445, 0.1399, 0.1450,
                                    0.1433, 0.1410, 0.1971, 0.1438, 0.1420, 0.1442, 0.1429, 0.1455, 0.1405, 0.1437};
  const Judgement judgement = judge(observe(samples));
  EXPECT_EQ(judgement.stability, Stability::kNoisy) << all_reasons(judgement);
}

TEST(Verdict, IntervalWidthDecidesBetweenNoisyAndUnstable) {
  const Judgement noisy = judge(observe({1.00, 1.06, 0.96, 1.02, 0.98, 1.04, 1.06, 0.96, 1.00, 1.04}));
  EXPECT_EQ(noisy.stability, Stability::kNoisy);
  EXPECT_NE(all_reasons(noisy).find("the median of 10 samples is known only within"), std::string::npos);

  const Judgement unstable = judge(observe({1.00, 1.09, 0.91, 1.07, 0.92, 1.08, 0.94, 1.06, 1.01, 0.93}));
  EXPECT_EQ(unstable.stability, Stability::kUnstable);
  EXPECT_NE(all_reasons(unstable).find("(limit 5 %)"), std::string::npos) << all_reasons(unstable);
}

TEST(Verdict, LargeStandardDeviationIsNoisyEvenIfTheMedianIsPrecise) {
  std::vector<double> samples = kCalm;
  samples[7] = 1.8;
  const Judgement judgement = judge(observe(samples));
  EXPECT_EQ(judgement.stability, Stability::kNoisy);
  EXPECT_NE(all_reasons(judgement).find("the standard deviation is 21.7 % of the mean (limit 10 %)"), std::string::npos)
      << all_reasons(judgement);
}

TEST(Verdict, ReportsTwoModesAsNoisy) {
  std::vector<double> samples(40, 1.0);
  for (size_t i = 3; i < samples.size(); i += 4) samples[i] = 1.1;
  const Judgement judgement = judge(observe(samples));
  EXPECT_EQ(judgement.stability, Stability::kNoisy);
  EXPECT_EQ(all_reasons(judgement), "two modes: 30 samples around 1.000 s, 10 around 1.100 s\n");
}

TEST(Verdict, TooFewSamplesAreUntested) {
  const Judgement one = judge(observe({1.0}));
  EXPECT_EQ(one.stability, Stability::kUntested);
  EXPECT_EQ(all_reasons(one), "1 sample is too few for a 95 % interval (it needs 6)\n");
  const Judgement five = judge(observe(std::vector<double>(5, 1.0)));
  EXPECT_EQ(five.stability, Stability::kUntested);
  EXPECT_EQ(all_reasons(five), "5 samples are too few for a 95 % interval (it needs 6)\n");
  EXPECT_EQ(judge(observe(std::vector<double>(6, 1.0))).stability, Stability::kStable);
}

TEST(Verdict, WeighsStolenTimeBySampleLength) {
  Observations seen = observe(kCalm);
  std::vector<double> stolen(kCalm.size(), 0.019);
  seen.stolen_fractions = stolen;
  EXPECT_EQ(judge(seen).stability, Stability::kStable);
  stolen.assign(kCalm.size(), 0.021);
  EXPECT_EQ(judge(seen).stability, Stability::kNoisy);
  stolen.assign(kCalm.size(), 0.101);
  EXPECT_EQ(judge(seen).stability, Stability::kUnstable);
  EXPECT_EQ(all_reasons(judge(seen)), "10.1 % of the time was lost to other guests of the host (limit 10 %)\n");
  stolen.assign(kCalm.size(), 0);
  stolen[0] = 0.12;  // 12 % of one of twelve samples is 1 % of the total time
  EXPECT_EQ(judge(seen).stability, Stability::kStable);

  std::vector<double> long_and_short(6, 10.0);
  long_and_short.back() = 0.01;
  Observations uneven = observe(std::vector<double>(6, 1));
  uneven.samples = long_and_short;
  const std::vector<double> all_of_the_short{0, 0, 0, 0, 0, 1};
  uneven.stolen_fractions = all_of_the_short;  // lost: 0.01 s of 50.01 s
  EXPECT_EQ(judge(uneven).stability, Stability::kStable);
}

TEST(Verdict, CountsThrottledTime) {
  Observations seen = observe(kCalm);
  const std::vector<double> throttled(kCalm.size(), 0.03);
  seen.throttled_fractions = throttled;
  const Judgement judgement = judge(seen);
  EXPECT_EQ(judgement.stability, Stability::kNoisy);
  EXPECT_EQ(all_reasons(judgement), "3.0 % of the time was lost to a CPU quota (limit 2 %)\n");
}

TEST(Verdict, CountsTimeWaitingForACore) {
  Observations seen = observe(kCalm);
  const std::vector<double> waiting(kCalm.size(), 0.97);
  seen.waiting_fractions = waiting;
  const Judgement judgement = judge(seen);
  EXPECT_EQ(judgement.stability, Stability::kUnstable);
  EXPECT_EQ(all_reasons(judgement), "97.0 % of the time was lost waiting for a core (limit 10 %)\n");
}

TEST(Verdict, ShortSamplesAddAReasonButKeepTheLevel) {
  Observations seen = observe(kCalm);
  seen.shortest_timed = Seconds(1.2e-3);
  const Judgement judgement = judge(seen);
  EXPECT_EQ(judgement.stability, Stability::kStable);
  ASSERT_EQ(judgement.reasons.size(), 1U);
  EXPECT_EQ(judgement.reasons[0], "samples as short as 1.200 ms (under 5.000 ms) are distorted by every interrupt");
}

// If only one reason is shown, it must be the one that decides the level.
TEST(Verdict, DecidingReasonComesFirst) {
  std::vector<double> samples{1.00, 1.06, 0.96, 1.02, 0.98,
                              1.04, 1.06, 0.96, 1.00, 1.04};  // noisy, because the interval of their median is wide
  Observations seen = observe(samples);
  const std::vector<double> stolen(samples.size(), 0.12);
  const std::vector<double> waiting(samples.size(), 0.03);
  seen.stolen_fractions = stolen;
  seen.waiting_fractions = waiting;
  seen.shortest_timed = Seconds(1.2e-3);
  Judgement judgement = judge(seen);
  EXPECT_EQ(judgement.stability, Stability::kUnstable);
  ASSERT_EQ(judgement.reasons.size(), 4U) << all_reasons(judgement);
  EXPECT_EQ(judgement.reasons[0], "12.0 % of the time was lost to other guests of the host (limit 10 %)");
  EXPECT_NE(judgement.reasons[1].find("known only within"), std::string::npos) << judgement.reasons[1];
  EXPECT_EQ(judgement.reasons[2], "3.0 % of the time was lost waiting for a core (limit 2 %)");
  EXPECT_NE(judgement.reasons[3].find("are distorted by every interrupt"), std::string::npos) << judgement.reasons[3];
  EXPECT_DOUBLE_EQ(judgement.lost.value_or(0), 0.12);
  EXPECT_EQ(judgement.lost_to, kLostToGuests);

  seen.meaningless = "measured with a debug build";
  judgement = judge(seen);
  EXPECT_EQ(judgement.reasons[0], "measured with a debug build");
}

// A value just above its limit is printed with enough digits to differ from the limit.
TEST(Verdict, ValueJustAboveItsLimitIsPrintedPrecisely) {
  Observations seen = observe(kCalm);
  const std::vector<double> stolen(kCalm.size(), 0.02001);
  seen.stolen_fractions = stolen;
  EXPECT_EQ(judge(seen).reasons[0], "2.001 % of the time was lost to other guests of the host (limit 2 %)");
}

TEST(Verdict, LevelsHaveNames) {
  EXPECT_EQ(name_of(Stability::kStable), "stable");
  EXPECT_EQ(name_of(Stability::kUntested), "untested");
  EXPECT_EQ(name_of(Stability::kNoisy), "noisy");
  EXPECT_EQ(name_of(Stability::kUnstable), "unstable");
  EXPECT_EQ(name_of(Stability::kNoSteadyState), "no_steady_state");
}

}  // namespace
}  // namespace laptime
