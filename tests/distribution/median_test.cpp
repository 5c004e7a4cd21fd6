// Tests order statistics against hand-computed values.
#include "distribution/median.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "distribution/samples.h"
#include "support/error_of.h"

namespace laptime {
namespace {

TEST(Median, HandlesOddAndEvenCounts) {
  EXPECT_EQ(median(std::vector<double>{3}), 3);
  EXPECT_EQ(median(std::vector<double>{5, 1}), 3);
  EXPECT_EQ(median(std::vector<double>{9, 1, 4}), 4);
  EXPECT_EQ(median(std::vector<double>{9, 1, 4, 6}), 5);
}

TEST(Median, IsExactForEqualSamples) { EXPECT_EQ(median(std::vector<double>(6, 0.1)), 0.1); }

TEST(Percentile, InterpolatesBetweenRanks) {
  const std::vector<double> sorted{10, 20, 30, 40, 50};
  EXPECT_DOUBLE_EQ(percentile_of_sorted(sorted, 0), 10);
  EXPECT_DOUBLE_EQ(percentile_of_sorted(sorted, 0.1), 14);  // position 0.4
  EXPECT_DOUBLE_EQ(percentile_of_sorted(sorted, 0.25), 20);
  EXPECT_DOUBLE_EQ(percentile_of_sorted(sorted, 0.9), 46);  // position 3.6
  EXPECT_DOUBLE_EQ(percentile_of_sorted(sorted, 1), 50);
  EXPECT_DOUBLE_EQ(percentile_of_sorted(std::vector<double>{7}, 0.3), 7);
}

TEST(MedianAbsoluteDeviation, MatchesAHandComputedValue) {
  // Distances from 2: 1 1 0 0 2 4 7. Their median is 1.
  EXPECT_EQ(median_absolute_deviation(std::vector<double>{1, 1, 2, 2, 4, 6, 9}, 2), 1);
}

TEST(SortedSamples, RejectsNanAndInfinity) {
  EXPECT_THROW(sorted_samples({}), Error);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(), 1e101}) {
    EXPECT_THROW(sorted_samples(std::vector<double>{1, bad, 2}), Error) << bad;
    EXPECT_THROW(median(std::vector<double>{bad}), Error) << bad;
  }
  EXPECT_THAT(test::error_of([] {
                sorted_samples(std::vector<double>{1, std::nan("")});
              }),
              testing::HasSubstr("sample 2 of 2 is nan"));
}

}  // namespace
}  // namespace laptime
