// Tests mean, deviations and autocorrelation against hand-computed values.
#include "distribution/moments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "random_samples.h"

namespace laptime {
namespace {

TEST(Moments, MatchHandComputedValues) {
  // The mean is 5; the squared distances 9 1 1 1 0 0 4 16 add up to 32.
  const Moments moments = moments_of_sorted(std::vector<double>{2, 4, 4, 4, 5, 5, 7, 9});
  EXPECT_DOUBLE_EQ(moments.total, 40);
  EXPECT_DOUBLE_EQ(moments.mean, 5);
  EXPECT_DOUBLE_EQ(moments.std_population, 2);
  ASSERT_TRUE(moments.std_sample.has_value());
  EXPECT_DOUBLE_EQ(*moments.std_sample, std::sqrt(32.0 / 7.0));
}

TEST(Moments, OneSampleHasNoSampleDeviation) {
  const Moments moments = moments_of_sorted(std::vector<double>{0.25});
  EXPECT_FALSE(moments.std_sample.has_value());
  EXPECT_EQ(moments.std_population, 0);
  EXPECT_EQ(moments.mean, 0.25);
}

TEST(Moments, EqualSamplesHaveZeroSpread) {
  const Moments moments = moments_of_sorted(std::vector<double>(7, 0.1));
  EXPECT_EQ(moments.mean, 0.1);
  EXPECT_EQ(moments.std_sample, 0.0);
  EXPECT_EQ(moments.std_population, 0);
}

TEST(Moments, ResolveSmallSpreadOnLargeOffset) {
  // In double precision, sums of squares around 0 would lose the spread: 1e9^2 cannot resolve 1e-6^2.
  const Moments moments = moments_of_sorted(std::vector<double>{1e9 - 1e-6, 1e9, 1e9 + 1e-6});
  EXPECT_NEAR(*moments.std_sample, 1e-6, 2e-7);  // adjacent doubles at 1e9 are 1.2e-7 apart
}

TEST(Autocorrelation, MatchesHandComputedValues) {
  // Distances from the mean 2.5: -1.5 -0.5 0.5 1.5. Products: 0.75 - 0.25 + 0.75 = 1.25. Sum of squares: 5.
  EXPECT_DOUBLE_EQ(lag1_autocorrelation(std::vector<double>{1, 2, 3, 4}, 2.5), 0.25);
  // Alternating around 1.5: three products of -0.25, sum of squares 1.
  EXPECT_DOUBLE_EQ(lag1_autocorrelation(std::vector<double>{1, 2, 1, 2}, 1.5), -0.75);
}

TEST(Autocorrelation, IsZeroForFewOrEqualSamples) {
  EXPECT_EQ(lag1_autocorrelation(std::vector<double>{1, 2}, 1.5), 0);
  EXPECT_EQ(lag1_autocorrelation(std::vector<double>{3, 3, 3, 3}, 3), 0);
}

TEST(Autocorrelation, DetectsCorrelatedSeries) {
  RandomSamples random(1);
  for (const double memory : {0.0, 0.3, 0.8}) {
    const std::vector<double> samples = random.autoregression(20000, 1, 0.1, memory);
    std::vector<double> sorted = samples;
    std::sort(sorted.begin(), sorted.end());
    EXPECT_NEAR(lag1_autocorrelation(samples, moments_of_sorted(sorted).mean), memory, 0.03);
  }
}

}  // namespace
}  // namespace laptime
