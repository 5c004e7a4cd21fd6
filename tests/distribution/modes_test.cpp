// Two modes are found if they are clearly separated, and almost never in a series with one mode.
#include "distribution/modes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "random_samples.h"

namespace laptime {
namespace {

TEST(Modes, FindsTwoClearModes) {
  const std::vector<SampleMode> modes =
      find_modes(std::vector<double>{1.00, 1.50, 1.01, 0.99, 1.51, 1.00, 1.49, 1.02, 1.00, 1.50});
  ASSERT_EQ(modes.size(), 2U);
  EXPECT_EQ(modes[0].count, 6);
  EXPECT_DOUBLE_EQ(modes[0].median, 1.00);
  EXPECT_DOUBLE_EQ(modes[0].min, 0.99);
  EXPECT_DOUBLE_EQ(modes[0].max, 1.02);
  EXPECT_EQ(modes[1].count, 4);
  EXPECT_DOUBLE_EQ(modes[1].median, 1.50);
}

TEST(Modes, FindsModesIfSamplesHaveTwoValues) {
  const std::vector<SampleMode> modes = find_modes(std::vector<double>{2, 3, 2, 3, 2, 3});
  ASSERT_EQ(modes.size(), 2U);
  EXPECT_EQ(modes[0].count, 3);
  EXPECT_EQ(modes[1].count, 3);
}

TEST(Modes, MergesModesWithinOnePercent) {
  EXPECT_EQ(find_modes(std::vector<double>{1.000, 1.009, 1.000, 1.009, 1.000, 1.009}).size(), 1U);
  EXPECT_EQ(find_modes(std::vector<double>{1.00, 1.02, 1.00, 1.02, 1.00, 1.02}).size(), 2U);
}

TEST(Modes, IgnoresOutliers) {
  // Two of twelve samples are fewer than the three that a mode needs.
  const std::vector<SampleMode> modes = find_modes(std::vector<double>{1, 1.01, 0.99, 1, 1.01, 2, 1, 1, 0.99, 2, 1, 1});
  ASSERT_EQ(modes.size(), 1U);
  EXPECT_EQ(modes[0].count, 12);
  EXPECT_EQ(modes[0].max, 2);
}

TEST(Modes, FindsOneModeInFewOrEqualSamples) {
  EXPECT_EQ(find_modes(std::vector<double>{7}).size(), 1U);
  EXPECT_EQ(find_modes(std::vector<double>{1, 1, 9, 9, 9}).size(), 1U);
  EXPECT_EQ(find_modes(std::vector<double>(50, 0.1)).size(), 1U);
}

// Share of trials in which samples from `draw` are split into two modes.
double share_of_two(int64_t count, const std::function<double()>& draw) {
  constexpr int kTrials = 1000;
  int two = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> samples(static_cast<size_t>(count));
    std::generate(samples.begin(), samples.end(), draw);
    two += find_modes(samples).size() == 2;
  }
  return two / static_cast<double>(kTrials);
}

TEST(Modes, RarelySplitsOnePeak) {
  RandomSamples random(5);
  for (const int64_t count : {10, 20, 50, 200}) {
    EXPECT_LE(share_of_two(count, [&] { return 1 + 0.1 * random.normal(); }), 0.01) << count;
    EXPECT_LE(share_of_two(count, [&] { return 1 - 0.1 * std::log(random.uniform()); }), 0.04) << count;
    EXPECT_LE(share_of_two(count, [&] { return 1 + 0.1 * random.uniform(); }), 0.04) << count;
  }
}

TEST(Modes, FindsTwoPeaksTenDeviationsApart) {
  RandomSamples random(6);
  for (const int64_t count : {20, 50, 200}) {
    const auto draw = [&] { return 1 + 0.01 * random.normal() + (random.uniform() < 0.5 ? 0.1 : 0); };
    EXPECT_GE(share_of_two(count, draw), 0.98) << count;
  }
}

}  // namespace
}  // namespace laptime
