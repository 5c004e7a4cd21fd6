// Changes of level are found at the right positions, and rarely reported in noise.
#include "distribution/change_points.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/error.h"
#include "random_samples.h"

namespace laptime {
namespace {

std::vector<double> level(RandomSamples& random, int64_t count, double mean) {
  return random.normals(count, mean, 0.01 * mean);
}

std::vector<double> joined(std::vector<double> first, const std::vector<double>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

TEST(ChangePoints, FindLevelChanges) {
  RandomSamples random(1);
  const std::vector<double> series =
      joined(joined(level(random, 12, 1.0), level(random, 9, 1.06)), level(random, 15, 0.9));
  EXPECT_EQ(find_change_points(series, 0.01), (std::vector<size_t>{12, 21}));
}

// The medians before and after either change are nearly equal, because most figures on both sides are near 1.0.
TEST(ChangePoints, FindATemporaryChange) {
  RandomSamples random(3);
  const std::vector<double> series =
      joined(joined(level(random, 30, 1.0), level(random, 20, 1.3)), level(random, 30, 1.0));
  EXPECT_EQ(find_change_points(series, 0.05), (std::vector<size_t>{30, 50}));
}

TEST(ChangePoints, MergeLevelsUntilChangesExceedTheLimit) {
  RandomSamples random(4);
  std::vector<double> series;
  for (const double mean : {1.0, 1.03, 1.06}) series = joined(series, level(random, 40, mean));
  EXPECT_EQ(find_change_points(series, 0.01).size(), 2U);
  EXPECT_EQ(find_change_points(series, 0.035).size(), 1U);
  EXPECT_TRUE(find_change_points(series, 0.1).empty());
}

TEST(ChangePoints, FindChangesInNoiseFreeFigures) {
  EXPECT_EQ(find_change_points(std::vector<double>{1, 1, 1, 1, 1, 2, 2, 2, 2, 2}, 0), (std::vector<size_t>{5}));
}

TEST(ChangePoints, IgnoreSingleDisturbances) {
  EXPECT_TRUE(find_change_points(std::vector<double>{1, 1.01, 0.99, 1, 3, 1.01, 1, 0.99, 1.01, 1}, 0.01).empty());
}

TEST(ChangePoints, IgnoreSmallChanges) {
  RandomSamples random(2);
  const std::vector<double> series = joined(level(random, 40, 1.0), level(random, 40, 1.03));
  EXPECT_EQ(find_change_points(series, 0.01).size(), 1U);
  EXPECT_TRUE(find_change_points(series, 0.05).empty());
}

TEST(ChangePoints, AreEmptyForFewOrEqualFigures) {
  EXPECT_TRUE(find_change_points(std::vector<double>(30, 2.0), 0).empty());
  EXPECT_TRUE(find_change_points(std::vector<double>{1, 1, 9, 9, 9}, 0).empty());
  EXPECT_TRUE(find_change_points({}, 0).empty());
}

TEST(ChangePoints, AreRareInNoise) {
  int found = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomSamples random(100 + seed);
    found += find_change_points(random.normals(30, 1, 0.05), 0).empty() ? 0 : 1;
  }
  EXPECT_LE(found, 8);  // 2 are expected (1 % of the series); the limit leaves room for chance
}

TEST(ChangePoints, RejectInvalidSeries) {
  std::vector<double> series(10, 1.0);
  series[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(find_change_points(series, 0), Error);
  EXPECT_THROW(find_change_points(std::vector<double>(kMostOfSeries + 1, 1.0), 0), Error);
}

}  // namespace
}  // namespace laptime
