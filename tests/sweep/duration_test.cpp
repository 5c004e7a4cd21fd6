// The estimate of the remaining time of a sweep.
#include "sweep/duration.h"

#include <gtest/gtest.h>

namespace laptime {
namespace {

TEST(TimeLeft, ScalesWithTheCostOfPoints) {
  TimeLeft left({1, 1, 10});
  EXPECT_EQ(left.estimate(0, std::nullopt, Seconds(0)), std::nullopt);
  left.finished(0, Seconds(2));
  ASSERT_TRUE(left.estimate(1, std::nullopt, Seconds(0)));
  EXPECT_DOUBLE_EQ(left.estimate(1, std::nullopt, Seconds(0))->count(), 22);
  EXPECT_DOUBLE_EQ(left.estimate(1, std::nullopt, Seconds(1))->count(), 21);
  left.finished(1, Seconds(4));
  EXPECT_DOUBLE_EQ(left.estimate(2, std::nullopt, Seconds(0))->count(), 30);
}

TEST(TimeLeft, EstimatesTheFirstPointFromItsSteps) {
  const TimeLeft left({4, 4});
  EXPECT_EQ(left.estimate(0, std::nullopt, Seconds(3)), std::nullopt);
  // After 3 s, the remaining steps take another 3 s, so the other point takes 6 s.
  EXPECT_DOUBLE_EQ(left.estimate(0, Seconds(3), Seconds(3))->count(), 3 + 6);
}

TEST(TimeLeft, UsesExpectedSecondsUntilAPointHasRun) {
  TimeLeft left({10, 20}, /*are_seconds=*/true);
  EXPECT_DOUBLE_EQ(left.estimate(0, std::nullopt, Seconds(4))->count(), 6 + 20);
  left.finished(0, Seconds(15));
  EXPECT_DOUBLE_EQ(left.estimate(1, std::nullopt, Seconds(0))->count(), 30);
}

TEST(TimeLeft, PointsThatDoNotRunTakeNoTime) {
  TimeLeft left({1, 1000, 1});
  left.finished(0, Seconds(5));
  left.skipped(1);
  EXPECT_DOUBLE_EQ(left.estimate(2, std::nullopt, Seconds(0))->count(), 5);
}

TEST(TimeLeft, IsNeverNegative) {
  TimeLeft left({1, 1});
  left.finished(0, Seconds(2));
  EXPECT_DOUBLE_EQ(left.estimate(1, std::nullopt, Seconds(9))->count(), 0);
}

}  // namespace
}  // namespace laptime
