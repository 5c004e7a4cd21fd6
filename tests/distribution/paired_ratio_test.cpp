// Tests the ratio of paired rounds against hand-computed values, and checks its error rate.
#include "distribution/paired_ratio.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "random_samples.h"

namespace laptime {
namespace {

TEST(PairedRatio, OneRoundHasARatioButNoInterval) {
  const PairedRatio result = paired_ratio(std::vector<double>{2}, std::vector<double>{3});
  EXPECT_EQ(result.rounds, 1);
  EXPECT_DOUBLE_EQ(result.ratio, 1.5);
  EXPECT_FALSE(result.interval);
  EXPECT_EQ(result.difference(0.01), Difference::kUndecided);
}

// The six pairwise averages of the logarithms 0, 2, 6 are 0, 1, 2, 3, 4, 6, with the median 2.5.
TEST(PairedRatio, IsTheMedianOfPairwiseAverages) {
  const std::vector<double> a(3, 1.0);
  EXPECT_NEAR(std::log(paired_ratio(a, std::vector<double>{1, std::exp(2.0), std::exp(6.0)}).ratio), 2.5, 1e-12);
}

// For n rounds, P(W = 0) is 2^-n in Wilcoxon's test: 1/128 exceeds 0.5 %, and 1/256 does not.
TEST(PairedRatio, NeedsEightRoundsForAnInterval) {
  std::vector<double> b{1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07};
  EXPECT_FALSE(paired_ratio(std::vector<double>(7, 1.0), b).interval);
  b.push_back(1.08);
  const PairedRatio eight = paired_ratio(std::vector<double>(8, 1.0), b);
  ASSERT_TRUE(eight.interval);
  EXPECT_DOUBLE_EQ(eight.interval->low, 1.01);
  EXPECT_DOUBLE_EQ(eight.interval->high, 1.08);
  EXPECT_EQ(static_cast<int64_t>(b.size()), kFewestRounds);
}

// Tabulated critical values of Wilcoxon's test at 0.5 % on each side: W <= 3 for 10 rounds and W <= 37 for 20, so 4 and
// 38 pairwise averages lie outside the interval on each side.
TEST(PairedRatio, MatchesTabulatedCriticalValues) {
  for (const auto& [rounds, outside] : std::vector<std::pair<size_t, size_t>>{{10, 4}, {20, 38}}) {
    std::vector<double> b;
    std::vector<double> logs;
    for (size_t i = 0; i < rounds; ++i) logs.push_back(static_cast<double>(i * i) / 1000.0);
    b.reserve(rounds);
    for (const double log : logs) b.push_back(std::exp(log));
    std::vector<double> averages;
    for (size_t i = 0; i < rounds; ++i) {
      for (size_t j = i; j < rounds; ++j) averages.push_back((logs[i] + logs[j]) / 2);
    }
    std::sort(averages.begin(), averages.end());
    const PairedRatio result = paired_ratio(std::vector<double>(rounds, 1.0), b);
    ASSERT_TRUE(result.interval);
    EXPECT_NEAR(std::log(result.interval->low), averages[outside - 1], 1e-12) << rounds;
    EXPECT_NEAR(std::log(result.interval->high), averages[averages.size() - outside], 1e-12) << rounds;
  }
}

TEST(PairedRatio, IsInvertedIfTheSidesAreSwapped) {
  const std::vector<double> a{1, 1.1, 0.9, 1.05, 1, 1.2, 0.95, 1, 1.01};
  const std::vector<double> b{1.3, 1.2, 1.1, 1.4, 1.15, 1.25, 1.2, 1.1, 1.22};
  const PairedRatio forth = paired_ratio(a, b);
  const PairedRatio back = paired_ratio(b, a);
  EXPECT_NEAR(forth.ratio * back.ratio, 1, 1e-12);
  EXPECT_NEAR(forth.interval->low * back.interval->high, 1, 1e-12);
  EXPECT_EQ(forth.difference(0.01), Difference::kSlower);
  EXPECT_EQ(back.difference(0.01), Difference::kFaster);
}

TEST(PairedRatio, DifferenceWithinTheMarginCountsAsSame) {
  const std::vector<double> a(9, 1.0);
  const std::vector<double> b(9, 1.004);
  EXPECT_EQ(paired_ratio(a, b).difference(0.01), Difference::kSame);
  EXPECT_EQ(paired_ratio(a, b).difference(0.001), Difference::kSlower);
  EXPECT_EQ(paired_ratio(a, std::vector<double>{0.9, 1.1, 0.9, 1.1, 0.9, 1.1, 0.9, 1.1, 1}).difference(0.01),
            Difference::kUndecided);
}

TEST(PairedRatio, RejectsInvalidTimes) {
  const std::vector<double> one{1};
  EXPECT_THROW(paired_ratio(one, std::vector<double>{1, 2}), Error);
  EXPECT_THROW(paired_ratio({}, {}), Error);
  for (const double wrong : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()})
    EXPECT_THROW(paired_ratio(one, std::vector<double>{wrong}), Error);
}

// A and B have the same noise, with rare long disturbances. If A and B are equal, at most 1 % of comparisons should
// report a difference; the limit leaves room for chance. If they differ by 3 %, nearly all comparisons must report a
// difference.
TEST(PairedRatio, SeparatesRealDifferencesFromNoise) {
  RandomSamples random(7);
  int wrong = 0;
  int found = 0;
  constexpr int kComparisons = 1000;
  for (int i = 0; i < kComparisons; ++i) {
    std::vector<double> a;
    std::vector<double> b;
    for (int round = 0; round < 24; ++round) {
      const auto disturbed = [&] { return 1 + 0.01 * random.normal() + (random.uniform() < 0.05 ? 0.3 : 0.0); };
      a.push_back(disturbed());
      b.push_back(disturbed());
    }
    const Difference none = paired_ratio(a, b).difference(0.001);
    wrong += none == Difference::kFaster || none == Difference::kSlower ? 1 : 0;
    for (double& time : b) time *= 1.03;
    found += paired_ratio(a, b).difference(0.001) == Difference::kSlower ? 1 : 0;
  }
  EXPECT_LE(wrong, 20);
  EXPECT_GE(found, 900);
}

// With a standard deviation of 1 %, detecting a difference of 1 % takes (2.576 + 1.645)^2 / 0.955 = 18.7 rounds: normal
// quantiles for 99 % and 95 %, and the efficiency of the signed-rank test. A difference of 20 %, or rounds without
// noise, takes the minimum number of rounds.
TEST(PairedRatio, StatesTheRoundsNeededToDetectADifference) {
  std::vector<double> b;
  b.reserve(99);
  for (int i = 0; i < 99; ++i) b.push_back(std::exp(0.006745 * (i % 3 - 1)));
  const std::vector<double> a(b.size(), 1.0);
  EXPECT_EQ(rounds_to_show(std::expm1(0.01), a, b), 19);
  EXPECT_EQ(rounds_to_show(0.2, a, b), kFewestRounds);
  EXPECT_EQ(rounds_to_show(0.01, a, a), kFewestRounds);
}

}  // namespace
}  // namespace laptime
