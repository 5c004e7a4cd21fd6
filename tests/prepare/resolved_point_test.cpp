// Points with their device, and the reason why a point cannot run.
#include "prepare/resolved_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/describe.h"
#include "measure/run_one.h"
#include "support/error_of.h"
#include "support/points.h"

namespace laptime {
namespace {

using testing::ElementsAre;
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

// The names of a sweep's points on a described machine, as a program runs them.
std::vector<std::string> names_as(Program program, const test::Options& options) {
  Sweep sweep;
  set_option(sweep, "device", "test", {"roofline:h100"});
  for (const auto& [flag, values] : options) set_option(sweep, flag, "test", split_list(values));
  set_program(sweep, program);
  std::vector<std::string> names;
  for (const SweepPoint& point : expand(sweep)) names.push_back(as_program(point, program).name);
  return names;
}

TEST(SetProgram, NamesPointsByTheModeOfTheProgram) {
  const std::string point = "step/model:small/ctx:256/dtype:float32/mode:";
  EXPECT_THAT(names_as(Program::kPyTorchCompile, {}), ElementsAre(point + "compile/as:pytorch-compile"));
  EXPECT_THAT(names_as(Program::kPyTorchEager, {{"mode", "eager,compile"}}),
              ElementsAre(point + "eager/as:pytorch-eager"));
  EXPECT_THAT(names_as(Program::kMegatron, {{"keep", "all,scaled_dot_product_attention"}}),
              ElementsAre(point + "compile/keep:all/as:megatron",
                          point + "compile/keep:scaled_dot_product_attention/as:megatron"));
}

TEST(SetProgram, RejectsCompositesThatTheProgramChooses) {
  const auto refusal = [](Program program, const std::string& flag, const std::string& value) {
    return test::error_of([&] { names_as(program, {{flag, value}}); });
  };
  for (const Program program : {Program::kPyTorchEager, Program::kPyTorchCompile, Program::kMegatron}) {
    EXPECT_THAT(refusal(program, "lower", "rms_norm"), HasSubstr("leave out --lower"));
    EXPECT_THAT(refusal(program, "keep", "rms_norm"), HasSubstr("leave out --keep"));
    EXPECT_THAT(refusal(program, "keep", "rms_norm+scaled_dot_product_attention"), HasSubstr("leave out --keep"));
    EXPECT_THAT(refusal(program, "ablate", "true"), HasSubstr("leave out --ablate"));
    EXPECT_EQ(refusal(program, "lower", "none"), "");
  }
}

}  // namespace
}  // namespace laptime
