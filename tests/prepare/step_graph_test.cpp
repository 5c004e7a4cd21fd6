// The graph of a point: composites that are not lowered, and the effect of --keep, --lower, --pass and --recompute.
#include "prepare/step_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "graph/op.h"
#include "prepare/device.h"
#include "support/points.h"

namespace laptime {
namespace {

using test::Options;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

RunConfig config_with(const Options& more) {
  return test::point_of({{"d-model", "32"},
                         {"num-layers", "2"},
                         {"num-heads", "2"},
                         {"vocab", "64"},
                         {"context", "16"},
                         {"batch", "2"},
                         {"device", "roofline:h100"}},
                        more)
      .config;
}

std::set<std::string> ops_of(const Options& options) {
  std::set<std::string> names;
  for (const Node& node : lowered_graph(config_with(options)).nodes) names.insert(node.op->name);
  return names;
}

TEST(StepGraph, EagerRunsPrimitivesAndCompileRunsComposites) {
  EXPECT_THAT(ops_of({{"mode", "eager"}}), Not(Contains("rms_norm")));
  const std::set<std::string> compiled = ops_of({{"mode", "compile"}});
  EXPECT_THAT(compiled, Contains("rms_norm"));
  EXPECT_THAT(compiled, Contains("scaled_dot_product_attention_backward"));
  EXPECT_THAT(compiled, Not(Contains("exp"))) << "softmax belongs to a composite";
}

TEST(StepGraph, KeepAndLowerSelectCompositesByName) {
  const std::set<std::string> kept = ops_of({{"mode", "compile"}, {"keep", "rms_norm"}});
  EXPECT_THAT(kept, Contains("rms_norm"));
  EXPECT_THAT(kept, Not(Contains("rope")));
  const std::set<std::string> lowered = ops_of({{"mode", "compile"}, {"lower", "rms_norm+rope"}});
  EXPECT_THAT(lowered, Not(Contains("rms_norm")));
  EXPECT_THAT(lowered, Not(Contains("rope")));
  EXPECT_THAT(lowered, Contains("swiglu"));
}

TEST(StepGraph, GpuLowersAttentionWithoutAFastKernel) {
  const auto fuses = [](const Options& more) {
    Options options{{"mode", "compile"}, {"d-model", "512"}};
    options.insert(options.end(), more.begin(), more.end());
    return ops_of(options).contains("scaled_dot_product_attention");
  };
  EXPECT_TRUE(fuses({{"num-heads", "4"}}));
  EXPECT_FALSE(fuses({{"num-heads", "2"}}));
  EXPECT_FALSE(fuses({{"num-heads", "4"}, {"edition", "gpt2"}, {"attn-pdrop", "0.1"}}));
  EXPECT_TRUE(fuses({{"num-heads", "2"}, {"device", "cpu"}}));
  EXPECT_TRUE(fuses({{"num-heads", "2"}, {"keep", "scaled_dot_product_attention"}}));
}

TEST(StepGraph, DescribedMachineIsAGpuUnlessItsFileSaysCpu) {
  EXPECT_TRUE(is_gpu(config_with({{"device", "roofline:h100"}})));
  EXPECT_TRUE(is_gpu(config_with({{"device", "roofline:m4"}}))) << "a file with data-sheet figures only";
  EXPECT_FALSE(is_gpu(config_with({{"device", "roofline:epyc-9554"}})));
  EXPECT_FALSE(is_gpu(config_with({{"device", "cpu"}})));
}

TEST(StepGraph, ErrorSuggestsNearestComposite) {
  try {
    lowered_graph(config_with({{"mode", "compile"}, {"lower", "rms_nrom"}}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("--lower: unknown composite 'rms_nrom'; did you mean 'rms_norm'?"));
  }
}

TEST(StepGraph, EachPassHasItsPhases) {
  const auto phases = [](const char* pass) {
    std::set<Phase> found;
    for (const Node& node : lowered_graph(config_with({{"pass", pass}})).nodes) found.insert(node.annotations.phase);
    found.erase(Phase::kSetup);
    return found;
  };
  EXPECT_EQ(phases("inference"), (std::set{Phase::kForward}));
  EXPECT_EQ(phases("forward"), (std::set{Phase::kForward}));
  EXPECT_EQ(phases("forward_backward"), (std::set{Phase::kForward, Phase::kBackward}));
  EXPECT_EQ(phases("step"), (std::set{Phase::kForward, Phase::kBackward, Phase::kOptimizer}));
}

TEST(StepGraph, RecomputeAddsClonedNodes) {
  const auto recomputed = [](const Options& options) {
    const Graph graph = lowered_graph(config_with(options));
    return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                         [](const Node& node) { return node.annotations.recomputed; });
  };
  EXPECT_EQ(recomputed({{"recompute", "none"}}), 0);
  EXPECT_GT(recomputed({{"recompute", "block"}}), 0);
  EXPECT_EQ(recomputed({{"recompute", "auto"}}), 0) << "auto is decided by fit_recompute";
}

// composites_of() lists the composites that can be decomposed, which an ablation lowers one by one.
TEST(StepGraph, ListsTheCompositesOfAPoint) {
  const std::vector<std::string> modern = composites_of(config_with({{"mode", "compile"}}));
  EXPECT_THAT(modern, Contains("rms_norm"));
  EXPECT_THAT(modern, Contains("rope"));
  EXPECT_THAT(modern, Not(Contains("layer_norm")));
  EXPECT_THAT(composites_of(config_with({{"edition", "gpt2"}, {"mode", "compile"}})), Contains("layer_norm"));
}

TEST(StepGraph, ParsesTheOpAndPauseOfTheDelayOption) {
  EXPECT_FALSE(delayed_op(config_with({})));
  const std::optional<DelayedOp> delayed = delayed_op(config_with({{"delay", "matmul=20us"}}));
  ASSERT_TRUE(delayed);
  EXPECT_EQ(std::string(delayed->op->name), "matmul");
  EXPECT_DOUBLE_EQ(delayed->pause.count(), 20e-6);
}

}  // namespace
}  // namespace laptime
