// Drift is found in series with a trend, and rarely in series without one.
#include "distribution/drift.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/error.h"
#include "random_samples.h"

namespace laptime {
namespace {

TEST(Drift, EqualsTheRelativeRiseOfALinearSeries) {
  const Drift drift = find_drift(std::vector<double>{100, 101, 102, 103, 104, 105, 106, 107, 108});
  EXPECT_DOUBLE_EQ(drift.change, 8.0 / 104);
  EXPECT_TRUE(drift.significant);
  const Drift falling = find_drift(std::vector<double>{108, 107, 106, 105, 104, 103, 102, 101, 100});
  EXPECT_DOUBLE_EQ(falling.change, -8.0 / 104);
  EXPECT_TRUE(falling.significant);
}

TEST(Drift, IsAbsentInEqualAlternatingOrFewSamples) {
  EXPECT_EQ(find_drift(std::vector<double>(50, 1.0)).change, 0);
  EXPECT_FALSE(find_drift(std::vector<double>(50, 1.0)).significant);
  EXPECT_FALSE(find_drift(std::vector<double>{1, 2, 1, 2, 1, 2, 1, 2, 1, 2}).significant);
  EXPECT_FALSE(find_drift(std::vector<double>{1, 2, 3, 4, 5}).significant);
}

TEST(Drift, IgnoresASingleOutlier) {
  std::vector<double> samples(30, 1.0);
  samples.back() = 50;
  EXPECT_FALSE(find_drift(samples).significant);
}

TEST(Drift, IsAccurateForALongSeries) {
  std::vector<double> samples;
  for (int i = 0; i < 10'000; ++i) samples.push_back(1 + 1e-5 * i);
  const Drift drift = find_drift(samples);
  EXPECT_TRUE(drift.significant);
  EXPECT_NEAR(drift.change, 0.1 / 1.05, 1e-3);
}

// Share of series in which a drift is reported, with noise of 3 %, autocorrelation `memory` and a total rise of `rise`.
double found(int64_t count, double rise, double memory) {
  RandomSamples random(20);
  constexpr int kTrials = 1000;
  int significant = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> samples = random.autoregression(count, 1, 0.03, memory);
    for (size_t i = 0; i < samples.size(); ++i) {
      samples[i] += rise * static_cast<double>(i) / static_cast<double>(count - 1);
    }
    significant += find_drift(samples).significant ? 1 : 0;
  }
  return significant / static_cast<double>(kTrials);
}

TEST(Drift, SlowRarelyFindsDriftInNoise) {
  EXPECT_LT(found(10, 0, 0), 0.02);
  EXPECT_LT(found(50, 0, 0), 0.02);
  EXPECT_LT(found(50, 0, 0.4), 0.05);
}

TEST(Drift, SlowFindsDriftDespiteNoise) {
  EXPECT_GT(found(50, 0.08, 0), 0.9);
  EXPECT_GT(found(20, 0.15, 0), 0.9);
}

TEST(Drift, RejectsNaN) {
  EXPECT_THROW(find_drift(std::vector<double>{1, std::numeric_limits<double>::quiet_NaN()}), Error);
}

}  // namespace
}  // namespace laptime
