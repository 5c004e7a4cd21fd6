// Each word of a verdict by the observation that causes it.
#include "distribution/verdict.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace laptime {
namespace {

constexpr SteadyState kSteady{Steadiness::kReached, 5, 0.001};

Observations observe(const std::vector<double>& samples) {
  Observations seen;
  seen.summary = summarize(samples);
  seen.samples = samples;
  seen.steady_state = kSteady;
  seen.steps = static_cast<int64_t>(samples.size()) + 5;
  seen.shortest_timed = Seconds(seen.summary.min);
  return seen;
}

std::string all_reasons(const Judgement& judgement) {
  std::string text;
  for (const std::string& reason : judgement.reasons) text += reason + "\n";
  return text;
}

// Twelve samples around 1 s, 0.1 % apart.
const std::vector<double> kCalm{1.000, 1.001, 0.999, 1.000, 1.001, 1.000, 0.999, 1.000, 1.001, 1.000, 1.000, 0.999};

TEST(Verdict, EveryWordHasAMeaningOfItsOwn) {
  std::set<std::string_view> meanings;
  for (const StabilityWord& word : stability_words()) meanings.insert(word.meaning);
  EXPECT_EQ(meanings.size(), 5U);
  EXPECT_FALSE(meanings.contains(""));
}

TEST(Verdict, StableHasNothingToSay) {
  const Judgement judgement = judge(observe(kCalm));
  EXPECT_EQ(judgement.stability, Stability::kStable);
  EXPECT_TRUE(judgement.reasons.empty()) << all_reasons(judgement);
}

TEST(Verdict, NoSteadyStateIsTheWorst) {
  std::vector<double> samples = kCalm;
  samples[3] = 3;
  Observations seen = observe(samples);
  seen.steady_state = {Steadiness::kNotReached, 30, 0.034};
  const Judgement judgement = judge(seen);
  EXPECT_EQ(judgement.stability, Stability::kNoSteadyState);
  ASSERT_EQ(judgement.reasons.size(), 2U);
  EXPECT_EQ(judgement.reasons[0],
            "after 30 steps the median of 5 steps still differs by +3.4 % from the 5 before (limit 1 %)");
}

TEST(Verdict, AWideIntervalIsNoisyThenUnstable) {
  const Judgement noisy = judge(observe({1.00, 1.03, 0.98, 1.01, 0.99, 1.02, 1.03, 0.98, 1.00, 1.02}));
  EXPECT_EQ(noisy.stability, Stability::kNoisy);
  EXPECT_NE(all_reasons(noisy).find("the median of 10 samples is known only within"), std::string::npos);

  const Judgement unstable = judge(observe({1.00, 1.09, 0.91, 1.07, 0.92, 1.08, 0.94, 1.06, 1.01, 0.93}));
  EXPECT_EQ(unstable.stability, Stability::kUnstable);
  EXPECT_NE(all_reasons(unstable).find("(limit 5 %)"), std::string::npos) << all_reasons(unstable);
}

TEST(Verdict, ALargeDeviationIsUnstableThoughTheMedianIsKnown) {
  std::vector<double> samples = kCalm;
  samples[7] = 1.8;
  const Judgement judgement = judge(observe(samples));
  EXPECT_EQ(judgement.stability, Stability::kUnstable);
  EXPECT_NE(all_reasons(judgement).find("the standard deviation is 21.7 % of the mean (limit 10 %)"), std::string::npos)
      << all_reasons(judgement);
}

TEST(Verdict, TwoModesAreNoisyAndNamed) {
  std::vector<double> samples(40, 1.0);
  for (size_t i = 3; i < samples.size(); i += 4) samples[i] = 1.1;
  const Judgement judgement = judge(observe(samples));
  EXPECT_EQ(judgement.stability, Stability::kNoisy);
  EXPECT_EQ(all_reasons(judgement), "two modes: 30 samples around 1.000 s, 10 around 1.100 s\n");
}

TEST(Verdict, WithoutAnIntervalNothingIsStable) {
  const Judgement one = judge(observe({1.0}));
  EXPECT_EQ(one.stability, Stability::kUntested);
  EXPECT_EQ(all_reasons(one), "1 sample is too few for a 95 % interval (it takes 6)\n");
  const Judgement five = judge(observe(std::vector<double>(5, 1.0)));
  EXPECT_EQ(five.stability, Stability::kUntested);
  EXPECT_EQ(all_reasons(five), "5 samples are too few for a 95 % interval (it takes 6)\n");
  EXPECT_EQ(judge(observe(std::vector<double>(6, 1.0))).stability, Stability::kStable);
}

TEST(Verdict, WithoutATestedSteadyStateNothingIsStable) {
  const std::vector<double> samples(8, 1.0);
  Observations seen = observe(samples);
  seen.steady_state = {};
  seen.steps = 9;
  const Judgement judgement = judge(seen);
  EXPECT_EQ(judgement.stability, Stability::kUntested);
  EXPECT_EQ(all_reasons(judgement), "9 steps are too few to test for a steady state (it takes 10)\n");
}

// Each step is 0.2 % or 0.05 % slower than the one before it, which the rule on ten steps lets pass.
TEST(Verdict, ADriftWithinTheSamplesCounts) {
  const auto rising = [](double each) {
    std::vector<double> samples(40);
    for (size_t i = 0; i < samples.size(); ++i) samples[i] = 1 + each * static_cast<double>(i);
    return judge(observe(samples));
  };
  const Judgement far = rising(0.0019);
  EXPECT_EQ(far.stability, Stability::kNoSteadyState);
  EXPECT_EQ(far.reasons[0], "the samples rise by 7.1 % from the first to the last (limit 5 %)");
  const Judgement near = rising(0.0005);
  EXPECT_EQ(near.stability, Stability::kNoisy);
  EXPECT_EQ(all_reasons(near), "the samples rise by 1.9 % from the first to the last (limit 1 %)\n");
  EXPECT_EQ(rising(0.0002).stability, Stability::kStable);  // 0.8 %
}

TEST(Verdict, StolenTimeIsWeighedBySampleLength) {
  Observations seen = observe(kCalm);
  std::vector<double> stolen(kCalm.size(), 0.004);
  seen.stolen_fractions = stolen;
  EXPECT_EQ(judge(seen).stability, Stability::kStable);
  stolen.assign(kCalm.size(), 0.006);
  EXPECT_EQ(judge(seen).stability, Stability::kNoisy);
  stolen.assign(kCalm.size(), 0.031);
  EXPECT_EQ(judge(seen).stability, Stability::kUnstable);
  EXPECT_EQ(all_reasons(judge(seen)), "3.1 % of the time was lost to other guests of the host (limit 3 %)\n");
  stolen.assign(kCalm.size(), 0);
  stolen[0] = 0.036;  // of one sample in twelve: 0.3 % of all
  EXPECT_EQ(judge(seen).stability, Stability::kStable);

  std::vector<double> long_and_short(6, 10.0);
  long_and_short.back() = 0.01;
  Observations uneven = observe(std::vector<double>(6, 1));
  uneven.samples = long_and_short;
  const std::vector<double> all_of_the_short{0, 0, 0, 0, 0, 1};
  uneven.stolen_fractions = all_of_the_short;  // 0.01 of 50.01 s
  EXPECT_EQ(judge(uneven).stability, Stability::kStable);
}

TEST(Verdict, ThrottledTimeCountsLikeStolenTime) {
  Observations seen = observe(kCalm);
  const std::vector<double> throttled(kCalm.size(), 0.01);
  seen.throttled_fractions = throttled;
  const Judgement judgement = judge(seen);
  EXPECT_EQ(judgement.stability, Stability::kNoisy);
  EXPECT_EQ(all_reasons(judgement), "1.0 % of the time was lost to a CPU quota (limit 0.5 %)\n");
}

TEST(Verdict, WaitingForACoreCountsLikeStolenTime) {
  Observations seen = observe(kCalm);
  const std::vector<double> waiting(kCalm.size(), 0.97);
  seen.waiting_fractions = waiting;
  const Judgement judgement = judge(seen);
  EXPECT_EQ(judgement.stability, Stability::kUnstable);
  EXPECT_EQ(all_reasons(judgement), "97.0 % of the time was lost waiting for a core (limit 3 %)\n");
}

TEST(Verdict, AShortSampleDoesNotChangeTheWord) {
  Observations seen = observe(kCalm);
  seen.shortest_timed = Seconds(1.2e-3);
  const Judgement judgement = judge(seen);
  EXPECT_EQ(judgement.stability, Stability::kStable);
  ASSERT_EQ(judgement.reasons.size(), 1U);
  EXPECT_EQ(judgement.reasons[0], "samples as short as 1.200 ms (under 5.000 ms) feel every interrupt");
}

// A reader who sees one reason must see the one that decides the word.
TEST(Verdict, TheReasonThatDecidesTheWordComesFirst) {
  std::vector<double> samples{1.00, 1.03, 0.98, 1.01, 0.99, 1.02, 1.03, 0.98, 1.00, 1.02};  // noisy by their interval
  Observations seen = observe(samples);
  const std::vector<double> stolen(samples.size(), 0.04);
  const std::vector<double> waiting(samples.size(), 0.01);
  seen.stolen_fractions = stolen;
  seen.waiting_fractions = waiting;
  seen.steady_state = {};
  seen.steps = 9;
  seen.shortest_timed = Seconds(1.2e-3);
  Judgement judgement = judge(seen);
  EXPECT_EQ(judgement.stability, Stability::kUnstable);
  ASSERT_EQ(judgement.reasons.size(), 5U) << all_reasons(judgement);
  EXPECT_EQ(judgement.reasons[0], "4.0 % of the time was lost to other guests of the host (limit 3 %)");
  EXPECT_NE(judgement.reasons[1].find("known only within"), std::string::npos) << judgement.reasons[1];
  EXPECT_EQ(judgement.reasons[2], "1.0 % of the time was lost waiting for a core (limit 0.5 %)");
  EXPECT_NE(judgement.reasons[3].find("too few to test"), std::string::npos) << judgement.reasons[3];
  EXPECT_NE(judgement.reasons[4].find("feel every interrupt"), std::string::npos) << judgement.reasons[4];

  seen.meaningless = "measured with a debug build";
  judgement = judge(seen);
  EXPECT_EQ(judgement.reasons[0], "measured with a debug build");
  seen.steady_state = {Steadiness::kNotReached, 30, 0.034};
  judgement = judge(seen);
  EXPECT_EQ(judgement.stability, Stability::kNoSteadyState);
  EXPECT_NE(judgement.reasons[0].find("still differs by +3.4 %"), std::string::npos) << judgement.reasons[0];
  EXPECT_EQ(judgement.reasons[1], "measured with a debug build");
}

// A value just above its limit is not written like the limit.
TEST(Verdict, AFigureBeyondItsLimitReadsSo) {
  Observations seen = observe(kCalm);
  seen.steady_state = {Steadiness::kNotReached, 30, -0.0104};
  EXPECT_EQ(judge(seen).reasons[0],
            "after 30 steps the median of 5 steps still differs by -1.04 % from the 5 before (limit 1 %)");
  seen.steady_state = kSteady;
  const std::vector<double> stolen(kCalm.size(), 0.00501);
  seen.stolen_fractions = stolen;
  EXPECT_EQ(judge(seen).reasons[0], "0.501 % of the time was lost to other guests of the host (limit 0.5 %)");
}

TEST(Verdict, HasItsNames) {
  EXPECT_EQ(name_of(Stability::kStable), "stable");
  EXPECT_EQ(name_of(Stability::kUntested), "untested");
  EXPECT_EQ(name_of(Stability::kNoisy), "noisy");
  EXPECT_EQ(name_of(Stability::kUnstable), "unstable");
  EXPECT_EQ(name_of(Stability::kNoSteadyState), "no_steady_state");
}

}  // namespace
}  // namespace laptime
