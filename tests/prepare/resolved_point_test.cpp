// Points with their device, and the reason why a point cannot run.
#include "prepare/resolved_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/describe.h"
#include "measure/run_one.h"
#include "support/points.h"

namespace laptime {
namespace {

using testing::HasSubstr;
using testing::Not;

const test::Options kTiny{{"d-model", "16"}, {"d-ff", "32"}, {"num-layers", "1"}, {"num-heads", "2"}, {"vocab", "32"},
                          {"context", "8"},  {"batch", "1"}, {"warmup", "0"},     {"steps", "1"},     {"threads", "1"}};

TEST(ResolvedPoint, FindsTheDeviceOncePerRun) {
  int searches = 0;
  const ResolvedPoint point(test::point_of(kTiny), [&](const RunConfig& config) {
    ++searches;
    return find_device(config);
  });
  ASSERT_TRUE(point.is_measured());
  EXPECT_EQ(point.device_key, device_key(*point.device));
  Record described = describe_point(point);
  described.run = "a run";
  const Record record = run_one(point, {}, {}, {}, described).record;
  EXPECT_EQ(record.status, Status::kOk) << record.reason;
  EXPECT_EQ(record.config_hash, described.config_hash);
  EXPECT_EQ(record.run, "a run");
  EXPECT_EQ(searches, 1);
}

TEST(ResolvedPoint, StatesWhyItCannotRun) {
  const ResolvedPoint unsupported(test::point_of(kTiny, {{"device", "cpu"}, {"dtype", "tf32"}}));
  EXPECT_EQ(unsupported.invalid, "");
  EXPECT_THAT(unsupported.refusal, HasSubstr("tensor cores"));
  EXPECT_FALSE(unsupported.device);
  SweepPoint point = test::point_of(kTiny);
  point.config.device = "roofline:h1000";
  const ResolvedPoint unknown(point);
  EXPECT_THAT(unknown.invalid, HasSubstr("h1000"));
  EXPECT_EQ(unknown.refusal, unknown.invalid);
  EXPECT_TRUE(ResolvedPoint(test::point_of(kTiny, {{"device", "roofline:h100"}})).is_predicted());
}

TEST(ResolvedPoint, MegatronFusesAttentionIn16BitTypes) {
  const auto lowered = [](const char* dtype, Program program) {
    return *as_program(test::point_of(kTiny, {{"device", "roofline:h100"}, {"dtype", dtype}}), program).config.lower;
  };
  EXPECT_THAT(lowered("bfloat16", Program::kMegatron), Not(HasSubstr("scaled_dot_product_attention")));
  EXPECT_THAT(lowered("tf32", Program::kMegatron), HasSubstr("scaled_dot_product_attention"));
  EXPECT_THAT(lowered("bfloat16", Program::kPyTorchCompile), HasSubstr("scaled_dot_product_attention"));
}

}  // namespace
}  // namespace laptime
