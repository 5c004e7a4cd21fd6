// Bootstrap intervals of medians and of ratios are deterministic, lie within the samples, and have the stated coverage.
#include "distribution/bootstrap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "base/error.h"
#include "distribution/median.h"
#include "distribution/moments.h"
#include "random_samples.h"

namespace laptime {
namespace {

TEST(BlockLength, MatchesHandComputedValues) {
  EXPECT_EQ(bootstrap_block_length(100, 0), 1);
  EXPECT_EQ(bootstrap_block_length(100, -0.9), 1);
  EXPECT_EQ(bootstrap_block_length(100, kBlockBootstrapAbove), 1);
  // For r = 0.5, 2 r / (1 - r^2) is 4/3, and (1.5 * 16/9 * 100)^(1/3) = 6.44 is rounded up.
  EXPECT_EQ(bootstrap_block_length(100, 0.5), 7);
  // The block length is at most a third of the number of samples.
  EXPECT_EQ(bootstrap_block_length(30, 0.99), 10);
  EXPECT_EQ(bootstrap_block_length(2, 0.9), 1);
}

TEST(BootstrapInterval, IsAPointForEqualSamples) {
  for (const auto& samples : {std::vector<double>{4}, std::vector<double>(9, 4)}) {
    const Interval interval = bootstrap_median_interval(samples, 0);
    EXPECT_EQ(interval.low, 4);
    EXPECT_EQ(interval.high, 4);
  }
}

// With three samples, the median of a resample is the smallest sample with probability 7/27; with two samples, the
// probability is 1/4. The same holds for the largest. All exceed 2.5 %, so the interval is the whole range.
TEST(BootstrapInterval, IsTheRangeForTwoOrThreeSamples) {
  for (const auto& samples : {std::vector<double>{1, 5}, std::vector<double>{5, 1, 3}}) {
    const Interval interval = bootstrap_median_interval(samples, 0);
    EXPECT_EQ(interval.low, 1);
    EXPECT_EQ(interval.high, 5);
  }
}

// For n = 11, the median of a resample is at most the k-th smallest sample with probability P(binomial(11, k/11) >= 6):
// 0.007 for k = 2 and 0.051 for k = 3. So the lower end (2.5 %) is the third smallest, and the upper end mirrors it.
TEST(BootstrapInterval, MatchesTheBinomialDistribution) {
  std::vector<double> samples;
  for (int i = 1; i <= 11; ++i) samples.push_back(i);
  const Interval interval = bootstrap_median_interval(samples, 0);
  EXPECT_EQ(interval.low, 3);
  EXPECT_EQ(interval.high, 9);
}

TEST(BootstrapInterval, IsDeterministicAndOrderIndependent) {
  RandomSamples random(2);
  std::vector<double> samples = random.normals(40, 1, 0.05);
  const Interval first = bootstrap_median_interval(samples, 0);
  std::reverse(samples.begin(), samples.end());
  std::swap(samples[3], samples[17]);
  const Interval second = bootstrap_median_interval(samples, 0);
  EXPECT_EQ(first.low, second.low);
  EXPECT_EQ(first.high, second.high);
}

TEST(BootstrapInterval, ScalesWithTheSamples) {
  RandomSamples random(3);
  std::vector<double> samples = random.autoregression(30, 1, 0.05, 0.6);
  for (const double autocorrelation : {0.0, 0.6}) {
    const Interval interval = bootstrap_median_interval(samples, autocorrelation);
    std::vector<double> scaled = samples;
    for (double& sample : scaled) sample *= 1024;
    const Interval larger = bootstrap_median_interval(scaled, autocorrelation);
    EXPECT_EQ(larger.low, 1024 * interval.low);
    EXPECT_EQ(larger.high, 1024 * interval.high);
  }
}

double coverage(int64_t count, double memory, bool use_blocks) {
  RandomSamples random(4);
  constexpr int kTrials = 400;
  int held = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const std::vector<double> samples = random.autoregression(count, 1, 0.05, memory);
    const Interval interval = bootstrap_median_interval(samples, use_blocks ? memory : 0);
    held += interval.low <= 1 && 1 <= interval.high;
  }
  return held / static_cast<double>(kTrials);
}

TEST(BootstrapInterval, SlowCoversTheTrueMedianAtTheStatedLevel) {
  EXPECT_GT(coverage(10, 0, true), 0.91);
  EXPECT_GT(coverage(25, 0, true), 0.91);
  EXPECT_LT(coverage(25, 0, true), 0.99);
}

TEST(BootstrapInterval, SlowCoversTheMedianOfCorrelatedSamplesOnlyWithBlocks) {
  const double blocks = coverage(100, 0.7, true);
  const double singles = coverage(100, 0.7, false);
  EXPECT_GT(blocks, 0.85);
  EXPECT_LT(singles, 0.70);
}

TEST(BootstrapInterval, RejectsNaN) {
  EXPECT_THROW(bootstrap_median_interval(std::vector<double>{1, std::numeric_limits<double>::quiet_NaN()}, 0), Error);
}

TEST(BootstrapRatio, ScalesWithTheSamples) {
  RandomSamples random(5);
  const std::vector<double> a = random.normals(30, 2, 0.05);
  const std::vector<double> b = random.normals(30, 1, 0.05);
  const Interval interval = bootstrap_ratio_interval(a, b).value();
  EXPECT_LT(interval.low, 2);
  EXPECT_GT(interval.high, 2);
  std::vector<double> doubled = a;
  for (double& sample : doubled) sample *= 2;
  EXPECT_EQ(bootstrap_ratio_interval(doubled, b).value().low, 2 * interval.low);
  const std::vector<double> exact(8, 0.5);
  EXPECT_EQ(bootstrap_ratio_interval(exact, exact).value().low, 1);
  EXPECT_EQ(bootstrap_ratio_interval(exact, exact).value().high, 1);
}

TEST(BootstrapRatio, IntervalOfMeansContainsTheRatioOfMeans) {
  std::vector<double> paused(8, 1.0);
  paused[3] = 9;
  const std::vector<double> steady(8, 1.0);
  const Interval interval = bootstrap_ratio_interval(paused, steady, Average::kMean).value();
  EXPECT_LT(interval.low, 2);
  EXPECT_GT(interval.high, 2);
  EXPECT_EQ(bootstrap_ratio_interval(steady, steady, Average::kMean).value().high, 1);
}

TEST(BootstrapRatio, NeedsSixPositiveSamplesOnEachSide) {
  const std::vector<double> five(5, 1.0);
  const std::vector<double> six(6, 1.0);
  EXPECT_FALSE(bootstrap_ratio_interval(five, six));
  EXPECT_FALSE(bootstrap_ratio_interval(six, five));
  EXPECT_TRUE(bootstrap_ratio_interval(six, six));
  std::vector<double> zero = six;
  zero[2] = 0;
  EXPECT_FALSE(bootstrap_ratio_interval(six, zero));
}

TEST(BootstrapRatio, SlowCoversTheTrueRatioAtTheStatedLevel) {
  RandomSamples random(6);
  int held = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const std::vector<double> above = random.normals(20, 3, 0.1);
    const std::vector<double> below = random.normals(20, 2, 0.1);
    const Interval interval = bootstrap_ratio_interval(above, below).value();
    held += interval.low <= 1.5 && 1.5 <= interval.high;
  }
  EXPECT_GT(held, 0.92 * 400);
}

TEST(RelativeHalfWidth, IsTheDistanceToTheFartherEnd) {
  EXPECT_DOUBLE_EQ(relative_half_width({9.75, 10.5}, 10), 0.05);
  EXPECT_DOUBLE_EQ(relative_half_width({9.5, 10.25}, 10), 0.05);
  EXPECT_EQ(relative_half_width({10, 10}, 10), 0);
  EXPECT_EQ(relative_half_width({0, 0}, 0), 0);
  EXPECT_EQ(relative_half_width({0, 1}, 0), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace laptime
