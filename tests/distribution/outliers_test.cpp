// Both outlier tests by hand.
#include "distribution/outliers.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "base/error.h"

namespace laptime {
namespace {

using Places = std::vector<int64_t>;

TEST(Outliers, AreFlaggedWithTheirPlaceInTime) {
  // Median 10, MAD 1: limit 3.5 / 0.6745 = 5.19 away. Quartiles 9 and 11: fences at 6 and 14.
  const Outliers outliers = find_outliers(std::vector<double>{30, 9, 10, 11, 9, 10, 11, 10, 4});
  EXPECT_EQ(outliers.modified_z, (Places{0, 8}));
  EXPECT_EQ(outliers.tukey, (Places{0, 8}));
}

TEST(Outliers, TheTwoTestsMayDisagree) {
  // Median 10, MAD 1: 15 is 5 away (inside 5.19). Quartiles 9 and 11: 15 is beyond the fence at 14.
  const Outliers outliers = find_outliers(std::vector<double>{9, 10, 11, 9, 10, 11, 10, 15, 8});
  EXPECT_EQ(outliers.modified_z, Places{});
  EXPECT_EQ(outliers.tukey, (Places{7}));
}

TEST(Outliers, WithMostSamplesEqual) {
  // MAD 0; mean distance (5 + 0.1) / 10 = 0.51, limit 3.5 * 1.2533 * 0.51 = 2.24.
  const Outliers outliers = find_outliers(std::vector<double>{1, 1, 1, 1, 6, 1, 1, 1.1, 1, 1});
  EXPECT_EQ(outliers.modified_z, (Places{4}));
  EXPECT_EQ(outliers.tukey, (Places{4, 7}));
}

TEST(Outliers, NoneAmongEqualOrSingleSamples) {
  for (const auto& samples : {std::vector<double>(5, 0.1), std::vector<double>{3}}) {
    EXPECT_EQ(find_outliers(samples).modified_z, Places{});
    EXPECT_EQ(find_outliers(samples).tukey, Places{});
  }
}

TEST(Outliers, RefuseNaN) {
  EXPECT_THROW(find_outliers(std::vector<double>{1, std::numeric_limits<double>::quiet_NaN()}), Error);
}

}  // namespace
}  // namespace laptime
