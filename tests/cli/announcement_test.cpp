// The line printed before a sweep: number of points, expected time, and points that do not fit.
#include "cli/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "prepare/prepare.h"
#include "prepare/resolved_point.h"
#include "prepare/time_forecast.h"
#include "support/knowledge.h"
#include "support/points.h"

namespace laptime {
namespace {

using testing::HasSubstr;
using testing::Not;

const test::Options kTiny{{"d-model", "32"}, {"num-layers", "2"}, {"num-heads", "2"}, {"vocab", "64"},
                          {"context", "32"}, {"batch", "2"},      {"threads", "1"},   {"mode", "compile"}};

// Launch costs that make every launch of the step take one second.
MachineKnowledge slow_launches(const RunConfig& config) {
  MachineKnowledge known;
  for (const PlanStep& step : prepare(config, find_device(config), {}).plan.steps) {
    const Signature signature = step.signature();
    known.launch_costs.push_back(
        {"", 1, signature.text(), step.kernel->name, kind_of(signature), step.flops, step.bytes, 1.0, "2026"});
  }
  return known;
}

TEST(Announcement, PredictsTheTimeFromLaunchCosts) {
  const SweepPoint point = test::point_of(kTiny, {{"warmup", "2"}, {"steps", "5"}});
  const MachineKnowledge known = slow_launches(point.config);
  const auto launches = static_cast<double>(prepare(point.config, find_device(point.config), {}).plan.steps.size());
  const std::vector<ExpectedPoint> expected = expected_points({point}, test::known(known));
  ASSERT_EQ(expected.size(), 1U);
  EXPECT_DOUBLE_EQ(expected[0].time->count(), launches * (2 + 5 + 3));
  EXPECT_THAT(announcement({point, point}, {expected[0], expected[0]}), testing::StartsWith("2 points, about "));
  EXPECT_EQ(announcement({point}, expected), "");
}

TEST(Announcement, StoredPointsTakeNoTime) {
  const std::vector<ResolvedPoint> points(2, test::point_of(kTiny));
  const ExpectedPoint stored{.time = Seconds{0}, .stored_at = "2026-01-02T10:15:30Z"};
  const std::string some = announcement(points, {stored, {.time = Seconds{60}}});
  EXPECT_EQ(some, "2 points, 1 from the store, measured 2026-01-02 10:15 UTC, about 60 s");
  ExpectedPoint newer = stored;
  newer.stored_at = "2026-01-03T00:00:00Z";
  EXPECT_EQ(announcement(points, {newer, stored}),
            "2 points, all from the store, measured 2026-01-02 10:15 UTC or later");
  EXPECT_FALSE(stored.runs());
  EXPECT_TRUE(ExpectedPoint{}.runs());
}

TEST(Announcement, NamesPointsThatDoNotFit) {
  const SweepPoint fits = test::point_of(kTiny, {{"steps", "1"}});
  SweepPoint large = test::point_of(kTiny, {{"memory-limit", "1kB"}, {"recompute", "none"}});
  large.name = "large";
  const std::string text =
      announcement({fits, large}, expected_points({fits, large}, test::known(slow_launches(fits.config))));
  EXPECT_THAT(text, HasSubstr("2 points, about"));
  EXPECT_THAT(text, HasSubstr("too large for memory: large"));
}

TEST(Announcement, DoesNotGuessUnknownTimes) {
  const SweepPoint point = test::point_of(kTiny);
  const std::vector<ResolvedPoint> points(2, point);
  const std::string text = announcement(points, expected_points(points, test::known(MachineKnowledge{})));
  EXPECT_THAT(text, Not(HasSubstr("about")));
  EXPECT_THAT(text, HasSubstr("duration unknown"));
}

// The wide step has twice the d_model, so none of its launch sizes has been measured.
TEST(Announcement, EstimatesForUnmeasuredSizesHaveARange) {
  const SweepPoint known = test::point_of(kTiny, {{"steps", "5"}});
  const SweepPoint wide = test::point_of(kTiny, {{"steps", "5"}, {"d-model", "64"}});
  const KnowledgeOf knowledge = test::known(slow_launches(known.config));
  const std::vector<ExpectedPoint> expected = expected_points({known, wide}, knowledge);
  EXPECT_FALSE(expected[0].rough);
  ASSERT_TRUE(expected[1].rough);
  EXPECT_LT(expected[1].rough->first, *expected[1].time);
  EXPECT_GT(expected[1].rough->second, *expected[1].time);
  EXPECT_THAT(announcement({known, wide}, expected), testing::ContainsRegex("about .* \\(.* to .*\\)"));
  EXPECT_THAT(announcement({known}, {expected[0]}), Not(HasSubstr("(")));
  EXPECT_FALSE(
      time_left({wide}, {expected[1]}).estimate(0, {}, Seconds{0}));  // unknown until a point of this size has run
  EXPECT_TRUE(time_left({known}, {expected[0]}).estimate(0, {}, Seconds{0}));
}

TEST(Announcement, IsEmptyForPredictedPoints) {
  const SweepPoint point = test::point_of(kTiny, {{"device", "roofline:h100"}});
  EXPECT_EQ(announcement({point}, expected_points({point}, test::known(MachineKnowledge{}))), "");
}

TEST(Announcement, DoesNotPlanLongSweeps) {
  const std::vector<ResolvedPoint> points(kMostPlanned + 1, test::point_of(kTiny));
  EXPECT_TRUE(expected_points(points, test::known(MachineKnowledge{})).empty());
  EXPECT_EQ(announcement(points, {}), "25 points");
}

}  // namespace
}  // namespace laptime
