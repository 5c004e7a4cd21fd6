// The estimate of the remaining time of a sweep.
#include "sweep/duration.h"

#include <gtest/gtest.h>

#include "base/available_memory.h"
#include "support/points.h"

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

// The time left for a large model, after a point with a small model has taken a second. AdamW's four float32 copies of
// the large model's parameters would take 1.2 times the host's available memory.
Seconds time_of_large_model(const test::Options& more, std::optional<int64_t> device_memory = {}) {
  constexpr int64_t kWidth = 1024;
  const int64_t parameters = available_memory().bytes.value_or(int64_t{1} << 35) * 12 / 10 / 16;
  ResolvedPoint large(test::point_of({{"d-model", std::to_string(kWidth)},
                                      {"num-layers", "1"},
                                      {"num-heads", "16"},
                                      {"vocab", std::to_string(parameters / (2 * kWidth))},
                                      {"device", "cpu"}},
                                     more));
  large.device->memory_bytes = device_memory;
  TimeLeft left = time_left({test::point_of({{"d-model", "64"}, {"num-heads", "2"}, {"device", "cpu"}}), large}, {});
  left.finished(0, Seconds(1));
  return left.estimate(1, std::nullopt, Seconds(0)).value();
}

TEST(TimeLeft, OmitsOnlyPointsThatCannotFit) {
  EXPECT_EQ(time_of_large_model({}).count(), 0);
  EXPECT_GT(time_of_large_model({{"optimizer-in-backward", "true"}}).count(), 0);
  EXPECT_GT(time_of_large_model({{"moments", "bfloat16"}}).count(), 0);
  EXPECT_GT(time_of_large_model({}, /*device_memory=*/int64_t{80} << 30U).count(), 0);
}

TEST(TimeLeft, IsNeverNegative) {
  TimeLeft left({1, 1});
  left.finished(0, Seconds(2));
  EXPECT_DOUBLE_EQ(left.estimate(1, std::nullopt, Seconds(9))->count(), 0);
}

}  // namespace
}  // namespace laptime
