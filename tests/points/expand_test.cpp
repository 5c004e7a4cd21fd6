// Expansion of sweeps: order, names, labels, invalid points and limits.
#include "points/expand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "support/error_of.h"

namespace laptime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Sweep sweep_of(const std::vector<std::pair<std::string, std::string>>& lists) {
  Sweep sweep;
  for (const auto& [flag, list] : lists) set_option(sweep, flag, "--" + flag, split_list(list));
  return sweep;
}

std::vector<std::string> names_of(const Sweep& sweep) {
  std::vector<std::string> names;
  for (const SweepPoint& point : expand(sweep)) names.push_back(point.name);
  return names;
}

TEST(Sweep, NoAxesGiveOnePoint) {
  EXPECT_THAT(names_of(Sweep{}), ElementsAre("step/model:small/ctx:256/dtype:float32/mode:eager"));
}

TEST(Sweep, LastAxisChangesFastest) {
  EXPECT_THAT(names_of(sweep_of({{"context", "128,512"}, {"model", "S,2p7"}})),
              ElementsAre("step/model:small/ctx:128/dtype:float32/mode:eager",
                          "step/model:2.7B/ctx:128/dtype:float32/mode:eager",
                          "step/model:small/ctx:512/dtype:float32/mode:eager",
                          "step/model:2.7B/ctx:512/dtype:float32/mode:eager"));
}

TEST(Sweep, NamesContainSweptOptionsAndOptionsThatChangeTheWork) {
  EXPECT_THAT(names_of(sweep_of({{"pass", "forward,inference"}, {"seed", "1,2"}, {"batch", "1"}, {"steps", "3"}})),
              ElementsAre("forward/model:small/ctx:256/dtype:float32/mode:eager/seed:1/batch:1",
                          "forward/model:small/ctx:256/dtype:float32/mode:eager/seed:2/batch:1",
                          "inference/model:small/ctx:256/dtype:float32/mode:eager/seed:1/batch:1",
                          "inference/model:small/ctx:256/dtype:float32/mode:eager/seed:2/batch:1"));
  EXPECT_THAT(names_of(sweep_of({{"model", "small"}, {"num-layers", "2"}, {"threads", "2"}})),
              ElementsAre("step/model:small/ctx:256/dtype:float32/mode:eager/layers:2/threads:2"));
}

TEST(Sweep, NamesContainPathsWithoutSlashes) {
  EXPECT_THAT(names_of(sweep_of({{"kernels", "a/x.json,b/x.json"}})),
              ElementsAre("step/model:small/ctx:256/dtype:float32/mode:eager/kernels:a-x.json",
                          "step/model:small/ctx:256/dtype:float32/mode:eager/kernels:b-x.json"));
  EXPECT_THAT(names_of(sweep_of({{"kernels", "a/x.json,a/y.json"}})),
              ElementsAre("step/model:small/ctx:256/dtype:float32/mode:eager/kernels:x.json",
                          "step/model:small/ctx:256/dtype:float32/mode:eager/kernels:y.json"));
}

TEST(Sweep, NamesAreUniqueEvenForCustomModels) {
  const Sweep sweep = sweep_of({{"model", "small,medium"}, {"num-layers", "1,2"}});
  const std::vector<std::string> names = names_of(sweep);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), 4U);
  EXPECT_EQ(names.front(), "step/model:small/ctx:256/dtype:float32/mode:eager/layers:1");
  EXPECT_EQ(expand(sweep).front().config.model.name, "custom");
}

TEST(Sweep, EachPointUsesTheDefaultsOfItsEdition) {
  const std::vector<SweepPoint> points = expand(sweep_of({{"edition", "2024,2026"}, {"steps", "3"}}));
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].config.model.batch_size, 16);
  EXPECT_EQ(points[0].config.warmup, 1);
  EXPECT_EQ(points[1].config.model.context_length, 512);
  EXPECT_EQ(points[1].config.warmup, 5);
}

TEST(Sweep, ReassignedOptionKeepsItsPosition) {
  Sweep sweep = sweep_of({{"model", "small,medium"}, {"context", "128"}});
  set_option(sweep, "model", "--model", {"large"});
  ASSERT_EQ(sweep.axes.size(), 2U);
  EXPECT_EQ(sweep.axes[0].flag, "model");
  EXPECT_THAT(sweep.axes[0].values, ElementsAre("large"));
}

TEST(Sweep, LabelsFollowThePattern) {
  Sweep sweep = sweep_of({{"edition", "2024"}, {"dtype", "float32,mixed,tf32"}, {"warmup", "0"}});
  set_option(sweep, "label", "--label", {"{model}_{pass}_warmup_{warmup}_mixed_{mixed}/{context_length}"});
  const std::vector<SweepPoint> points = expand(sweep);
  EXPECT_EQ(points[0].label, "small_step_warmup_0_mixed_false/128");
  EXPECT_EQ(points[1].label, "small_step_warmup_0_mixed_true/128");
  EXPECT_EQ(points[2].label, "small_step_warmup_0_mixed_false/128");
  EXPECT_EQ(points[1].config.dtype, Precision::kMixed);
}

TEST(Sweep, RejectsBadLabels) {
  for (const char* pattern : {"{modl}", "{", "}", "{model", "model}", "{{model}}", "{}", "a{b{c}"}) {
    Sweep sweep;
    EXPECT_THAT(test::error_of([&] { set_option(sweep, "label", "--label", {pattern}); }), StartsWith("--label: "))
        << pattern;
  }
  Sweep sweep;
  std::string long_pattern;
  for (int i = 0; i < 100; ++i) long_pattern += "{optimizer}";
  EXPECT_THAT(test::error_of([&] { set_option(sweep, "label", "--label", {long_pattern}); }),
              HasSubstr("more than 256"));
}

TEST(Sweep, InvalidPointsKeepTheirReason) {
  const std::vector<SweepPoint> points = expand(sweep_of({{"num-heads", "5,12"}}));
  ASSERT_EQ(points.size(), 2U);
  EXPECT_THAT(points[0].invalid, HasSubstr("must be divisible by num_heads (5)"));
  EXPECT_EQ(points[0].config.model.num_heads, 5);
  EXPECT_EQ(points[1].invalid, "");
}

TEST(Sweep, RejectsASweepWithoutAValidPoint) {
  EXPECT_THAT(test::error_of([] {
                expand(sweep_of({{"num-heads", "5"}}));
              }),
              StartsWith("d_model (768) must be divisible by num_heads (5)"));
  EXPECT_THAT(test::error_of([] {
                expand(sweep_of({{"num-heads", "5,7"}}));
              }),
              StartsWith("no point of the sweep can run: "));
}

TEST(Sweep, RejectsTooManyPoints) {
  std::string list = "1";
  for (int i = 2; i <= 200; ++i) list += "," + std::to_string(i);
  const Sweep sweep = sweep_of({{"batch", list}, {"context", list}, {"seed", list}});
  EXPECT_THAT(test::error_of([&] { expand(sweep); }), HasSubstr("more than 10000 points"));
  EXPECT_EQ(expand(sweep_of({{"batch", list}}), 200).size(), 200U);
  EXPECT_THROW(expand(sweep_of({{"batch", list}}), 199), Error);
}

TEST(Sweep, RejectsBadOptions) {
  Sweep sweep;
  const auto set = [&](std::string_view flag, const std::vector<std::string>& values) {
    return test::error_of([&] { set_option(sweep, flag, "here", values); });
  };
  EXPECT_THAT(set("contxt", {"1"}), AllOf(StartsWith("here: unknown option 'contxt'"), HasSubstr("'context'")));
  EXPECT_THAT(set("context", {}), HasSubstr("empty"));
  EXPECT_THAT(set("context", {"128", "0128"}), HasSubstr("'0128' is listed twice"));
  EXPECT_THAT(set("model", {"small", "S"}), HasSubstr("listed twice"));
  EXPECT_THAT(set("timeout", {"1", "2"}), HasSubstr("takes one value"));
  EXPECT_THAT(set("output", {"csv", "json"}), HasSubstr("takes one value"));
  EXPECT_THAT(set("output", {"cvs"}), HasSubstr("did you mean 'csv'?"));
  EXPECT_THAT(set("context", {"128", "x"}), HasSubstr("'x' is not a whole number"));
  EXPECT_TRUE(sweep.axes.empty());
}

TEST(Sweep, SplitsLists) {
  EXPECT_THAT(split_list("a"), ElementsAre("a"));
  EXPECT_THAT(split_list("a,b+c,d"), ElementsAre("a", "b+c", "d"));
  EXPECT_THAT(split_list(""), ElementsAre(""));
  EXPECT_THAT(split_list(",a,"), ElementsAre("", "a", ""));
}

}  // namespace
}  // namespace laptime
