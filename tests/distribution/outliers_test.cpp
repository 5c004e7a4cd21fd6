// Tests outliers by the modified z-score against hand-computed limits.
#include "distribution/outliers.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/error.h"

namespace laptime {
namespace {

using Places = std::vector<int64_t>;

TEST(Outliers, AreFlaggedWithTheirPositionInTime) {
  // Median 10, MAD 1: the limit is at a distance of 3.5 / 0.6745 = 5.19.
  EXPECT_EQ(find_outliers(std::vector<double>{30, 9, 10, 11, 9, 10, 11, 10, 4}), (Places{0, 8}));
}

TEST(Outliers, KeepSamplesWithinTheLimit) {
  // Median 10, MAD 1: 15 is at a distance of 5.
  EXPECT_EQ(find_outliers(std::vector<double>{9, 10, 11, 9, 10, 11, 10, 15, 8}), Places{});
}

TEST(Outliers, UseTheMeanDistanceIfMostSamplesAreEqual) {
  // MAD 0; mean distance (5 + 0.1) / 10 = 0.51, limit 3.5 * 1.2533 * 0.51 = 2.24.
  EXPECT_EQ(find_outliers(std::vector<double>{1, 1, 1, 1, 6, 1, 1, 1.1, 1, 1}), (Places{4}));
}

TEST(Outliers, AreEmptyForEqualOrSingleSamples) {
  for (const auto& samples : {std::vector<double>(5, 0.1), std::vector<double>{3}}) {
    EXPECT_EQ(find_outliers(samples), Places{});
  }
}

TEST(Outliers, RejectNaN) {
  EXPECT_THROW(find_outliers(std::vector<double>{1, std::numeric_limits<double>::quiet_NaN()}), Error);
}

}  // namespace
}  // namespace laptime
