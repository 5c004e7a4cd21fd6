// fit_recompute: finds the least recomputation with which a step fits in memory, without opening a device.
#include "prepare/fit_recompute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "prepare/kernel_choice.h"
#include "prepare/step_graph.h"
#include "support/points.h"

namespace laptime {
namespace {

using test::Options;
using testing::HasSubstr;
using testing::Not;

class FitRecompute : public testing::Test {
 protected:
  static RunConfig config_with(const Options& more) {
    return test::point_of({{"d-model", "32"},
                           {"num-layers", "4"},
                           {"num-heads", "2"},
                           {"vocab", "64"},
                           {"context", "64"},
                           {"batch", "4"},
                           {"device", "roofline:l4"},
                           {"recompute", "auto"}},
                          more)
        .config;
  }

  FittedRecompute fit(int64_t bytes, const Options& more = {}) {
    MemoryBound bound;
    bound.bytes = bytes;
    return fit_recompute(config_with(more), bound, choose_);
  }
  int64_t need(const RecomputeRule& rule, const Options& more = {}) {
    return make_plan(lowered_graph(config_with(more), rule), choose_).predicted_peak_bytes();
  }

  Device device_ = find_device(config_with({}));
  KernelChoices none_;
  ChooseKernel choose_ = chooser(*device_.kernels, none_);
};

TEST_F(FitRecompute, RecomputesNothingIfThePlanFits) {
  const FittedRecompute fitted = fit(int64_t{1} << 40U);
  EXPECT_EQ(fitted.text, "none");
  EXPECT_EQ(fitted.rule.group, 0);
  EXPECT_EQ(fitted.advice, "");
}

TEST_F(FitRecompute, SlowRecomputesOnlyAsManyLayersAsNeededToFit) {
  std::vector<int64_t> needs;
  RecomputeRule rule = fit(int64_t{1} << 40U).rule;
  needs.push_back(need(rule));
  rule.group = 1;
  for (rule.layers = 1; rule.layers <= 4; ++rule.layers) needs.push_back(need(rule));
  for (size_t layers = 1; layers < needs.size(); ++layers) {
    ASSERT_LT(needs[layers], needs[layers - 1]) << layers << " layers";
    const FittedRecompute fitted = fit(needs[layers]);
    EXPECT_EQ(fitted.rule.layers, static_cast<int64_t>(layers));
    EXPECT_EQ(fitted.text, layers == 4 ? "block" : fmt::format("block in layers 0-{} of 4", layers - 1));
  }
}

TEST_F(FitRecompute, LengthensRegionsAsLongAsThatSavesMemory) {
  const Options deep{{"num-layers", "12"}, {"vocab", "4096"}};
  RecomputeRule rule = fit(int64_t{1} << 40U, deep).rule;
  std::vector<int64_t> needs;
  rule.layers = 12;
  for (rule.group = 1; rule.group <= 6; ++rule.group) needs.push_back(need(rule, deep));
  ASSERT_LT(needs.back(), *std::min_element(needs.begin(), needs.end() - 1));
  EXPECT_EQ(fit(needs.back(), deep).text, "every=6");
}

TEST_F(FitRecompute, WithRanksAutoChoosesOnlyNoneOrBlock) {
  RunConfig config = config_with({{"recompute", "none"}, {"ranks", "2"}});
  MemoryBound bound;
  const int64_t most = make_plan(lowered_graph(config, recompute_rule(config)), choose_).predicted_peak_bytes();
  config.recompute = "auto";
  std::vector<std::string> texts;
  for (int64_t bytes = most; bytes > 0 && (texts.empty() || texts.back() != "block"); bytes -= 1024) {
    bound.bytes = bytes;
    const std::string text = fit_recompute(config, bound, choose_).text;
    if (texts.empty() || texts.back() != text) texts.push_back(text);
  }
  EXPECT_THAT(texts, testing::ElementsAre("none", "block"));
}

TEST_F(FitRecompute, SuggestsOptionsThatSaveMemoryIfNothingFits) {
  const FittedRecompute fitted = fit(1, {{"mode", "compile"}});
  EXPECT_THAT(fitted.advice,
              HasSubstr("no other --recompute value needs less memory than " + typed_recompute(fitted.text)));
  EXPECT_THAT(fitted.advice, HasSubstr("--optimizer-in-backward"));
}

TEST_F(FitRecompute, SuggestsOnlyOptionsThatThePointAccepts) {
  const std::vector<Options> all{{{"micro-batches", "2"}},
                                 {{"loss-scale", "1024"}},
                                 {{"clip-norm", "1"}},
                                 {{"accumulate", "true"}},
                                 {{"pass", "forward_backward"}}};
  for (const Options& options : all) {
    const std::string advice = fit(1, options).advice;
    EXPECT_THAT(advice, HasSubstr("no other --recompute value needs less memory than")) << options[0].first;
    EXPECT_THAT(advice, Not(HasSubstr("--optimizer-in-backward"))) << options[0].first;
  }
}

TEST(TypedRecompute, MarksChoicesThatOnlyAutoCanMake) {
  for (const char* const value : {"none", "block", "every=2"}) EXPECT_EQ(typed_recompute(value), value);
  EXPECT_EQ(typed_recompute("block in layers 0-3 of 12"), "auto (block in layers 0-3 of 12)");
  EXPECT_EQ(typed_recompute("loss"), "auto (only the loss)");
}

TEST_F(FitRecompute, KeepsAFixedChoiceForAnyMemoryBound) {
  const FittedRecompute fitted = fit(1, {{"recompute", "every=2"}});
  EXPECT_EQ(fitted.text, "every=2");
  EXPECT_EQ(fitted.rule.group, 2);
  EXPECT_EQ(fitted.advice, "");
}

TEST_F(FitRecompute, GpuRecomputesCheapOpsOnlyIfTheStepDoesNotFit) {
  const Options compiled{{"recompute", "none"}, {"mode", "compile"}};
  const RunConfig config = config_with(compiled);
  const int64_t without = make_plan(lowered_graph(config, recompute_rule(config)), choose_).predicted_peak_bytes();
  EXPECT_FALSE(fit(without, compiled).rule.local);
  const FittedRecompute fitted = fit(without - 1, compiled);
  EXPECT_TRUE(fitted.rule.local);
  EXPECT_EQ(fitted.rule.group, 0);
  EXPECT_EQ(fitted.text, "cheap ops");
  EXPECT_EQ(fit(without - 1, {{"mode", "compile"}}).text, "cheap ops");  // also with --recompute auto
}

}  // namespace
}  // namespace laptime
