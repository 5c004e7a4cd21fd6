// What compile mode adds: recomputation, casts folded into ops, results over operands, the optimizer in backward.
#include <gtest/gtest.h>

#include <cmath>

#include "graph/structural_ops.h"
#include "ops/matmul/matmul.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"
#include "passes/dead_code.h"
#include "passes/fold_addends.h"
#include "passes/fold_casts.h"
#include "passes/optimizer_in_backward.h"
#include "passes/recompute.h"
#include "passes/saved.h"
#include "support/training.h"

namespace laptime::test {
namespace {

constexpr int kSteps = 3;

std::vector<double> losses(const RunConfig& config, const PipelineOptions& passes, int threads = 1) {
  Training training(config, {.threads = threads, .passes = passes});
  std::vector<double> values;
  for (int step = 0; step < kSteps; ++step) {
    training.step();
    values.push_back(training.loss());
  }
  return values;
}

std::vector<std::byte> bits(const RunConfig& config, const PipelineOptions& passes, int threads = 1) {
  Training training(config, {.threads = threads, .passes = passes});
  for (int step = 0; step < kSteps; ++step) training.step();
  return training.everything();
}

Graph step_graph(const RunConfig& config, const PipelineOptions& passes) {
  return run_passes(build_train_step(config), passes);
}

int64_t count(const Graph& graph, const std::string& op) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.op->name == op; });
}

TEST(Compile, LosesNothingOfTheEagerStep) {
  for (const Edition edition : kEditions) {
    for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
      const RunConfig config = tiny_config(edition, dtype);
      const std::vector<double> eager = losses(config, eager_options(config));
      const std::vector<double> compiled = losses(config, compile_options(config));
      const double tolerance = dtype == Precision::kFloat32 ? 2e-6 : 4e-3;
      for (size_t i = 0; i < eager.size(); ++i)
        EXPECT_NEAR(compiled[i] / eager[i], 1, tolerance) << name_of(edition) << ' ' << name_of(dtype) << " step " << i;
    }
  }
}

TEST(Compile, SizesThatDivideByNothing) {
  for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
    const RunConfig config = odd_config(dtype);
    const std::vector<double> eager = losses(config, eager_options(config));
    const std::vector<double> compiled = losses(config, compile_options(config));
    for (size_t i = 0; i < eager.size(); ++i)
      EXPECT_NEAR(compiled[i] / eager[i], 1, dtype == Precision::kFloat32 ? 2e-6 : 4e-3) << i;
  }
}

TEST(Compile, DropsWhatEagerDrops) {
  RunConfig config = tiny_config(Edition::k2024);
  config.model.embd_pdrop = config.model.attn_pdrop = config.model.resid_pdrop = 0.2;
  const std::vector<double> eager = losses(config, eager_options(config));
  const std::vector<double> compiled = losses(config, compile_options(config));
  for (size_t i = 0; i < eager.size(); ++i) EXPECT_NEAR(compiled[i] / eager[i], 1, 2e-6) << i;
}

TEST(Compile, SameBitsForAnyNumberOfThreads) {
  for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
    const RunConfig config = odd_config(dtype);
    const std::vector<std::byte> one = bits(config, compile_options(config), 1);
    EXPECT_EQ(one, bits(config, compile_options(config), 1));
    EXPECT_EQ(one, bits(config, compile_options(config), 2));
    EXPECT_EQ(one, bits(config, compile_options(config), 3));
  }
}

TEST(Compile, RunsWhatItKeepsWhole) {
  const RunConfig config = tiny_config(Edition::k2025);
  PipelineOptions passes = compile_options(config);
  const Graph whole = step_graph(config, passes);
  EXPECT_GT(count(whole, "rms_norm"), 0);
  EXPECT_EQ(count(whole, "rsqrt"), 0);
  std::erase(passes.keep, "rms_norm");
  const Graph lowered = step_graph(config, passes);
  EXPECT_EQ(count(lowered, "rms_norm"), 0);
  EXPECT_GT(count(lowered, "rsqrt"), 0);
  const std::vector<double> a = losses(config, compile_options(config));
  const std::vector<double> b = losses(config, passes);
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i] / b[i], 1, 2e-6);
}

// Heads tied and not, with a bias and without.
TEST(Compile, TheLossOfLogitsThatNeverExist) {
  for (const Edition edition : kEditions) {
    for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(edition), name_of(dtype)));
      const RunConfig config = tiny_config(edition, dtype);
      const PipelineOptions whole = compile_options(config, true);
      const std::vector<double> apart = losses(config, compile_options(config));
      const std::vector<double> together = losses(config, whole);
      for (size_t i = 0; i < apart.size(); ++i)
        EXPECT_NEAR(together[i] / apart[i], 1, dtype == Precision::kFloat32 ? 2e-6 : 4e-3) << "step " << i;
      const std::vector<std::byte> one = bits(config, whole, 1);
      EXPECT_EQ(one, bits(config, whole, 2));
      EXPECT_EQ(one, bits(config, whole, 3));

      const Graph graph = step_graph(config, whole);
      EXPECT_EQ(count(graph, "linear_cross_entropy"), 1);
      EXPECT_EQ(count(graph, "linear_cross_entropy_backward"), 1);
      const int64_t logits = config.model.batch_size * config.model.context_length * config.model.vocab_size;
      EXPECT_LE(saved_bytes(graph) + 2 * logits, saved_bytes(step_graph(config, compile_options(config))));
    }
  }
}

TEST(Recompute, ChangesNoBit) {
  for (const Edition edition : kEditions) {
    for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
      RunConfig config = tiny_config(edition, dtype);
      if (edition == Edition::k2024) config.model.embd_pdrop = config.model.attn_pdrop = config.model.resid_pdrop = 0.1;
      PipelineOptions passes = compile_options(config);
      passes.recompute = {};
      const std::vector<std::byte> kept = bits(config, passes);
      for (const RecomputeRule rule : {RecomputeRule{true, 0, 0}, {true, 1, 2}, {true, 1, 1}, {false, 2, 2}}) {
        passes.recompute = rule;
        EXPECT_EQ(bits(config, passes), kept) << name_of(edition) << " group " << rule.group << " of " << rule.layers;
      }
    }
  }
}

TEST(Recompute, OfEagerStepsToo) {
  const RunConfig config = tiny_config(Edition::k2025);
  PipelineOptions passes = eager_options(config);
  const std::vector<std::byte> kept = bits(config, passes);
  passes.recompute = {false, 1, 2};
  EXPECT_EQ(bits(config, passes), kept);
}

TEST(Recompute, OfBlocksKeepsTheirBorders) {
  RunConfig config = tiny_config(Edition::k2025);
  config.model.num_layers = 6;
  config.pass = Pass::kForwardBackward;
  PipelineOptions passes = compile_options(config);
  const int64_t local = saved_bytes(step_graph(config, passes));
  passes.recompute = {true, 1, 6};
  const Graph graph = step_graph(config, passes);
  const ModelConfig& model = config.model;
  const int64_t tokens = model.batch_size * model.context_length;
  const int64_t residual = tokens * model.d_model * 4;
  // The input of each block; what stands before and after the blocks is as before.
  EXPECT_LT(saved_bytes(graph), local - 5 * residual);
  EXPECT_LE(saved_bytes(graph), (6 + 2) * residual + 2 * tokens * model.vocab_size * 4);
  for (const Node& node : graph.nodes) {
    if (node.annotations.recomputed) {
      EXPECT_EQ(node.annotations.phase, Phase::kBackward);
    }
  }
}

// Per block 4 (6 N d + 2 N d_ff + N h) bytes: norms and gates are made again.
TEST(Recompute, TheBlockOf2025SavesNoMoreThanItMust) {
  RunConfig config = tiny_config(Edition::k2025);
  config.pass = Pass::kForwardBackward;
  const auto saved_with = [&](int64_t layers) {
    config.model.num_layers = layers;
    return saved_bytes(step_graph(config, compile_options(config)));
  };
  const ModelConfig& model = config.model;
  const int64_t n = model.batch_size * model.context_length;
  const int64_t block = saved_with(3) - saved_with(2);
  // 1/rms of the two norms (2 N) is kept as well.
  EXPECT_LE(block, 4 * (7 * n * model.d_model + 2 * n * model.d_ff + n * model.num_heads + 2 * n));
}

TEST(Recompute, LayersOfScopes) {
  EXPECT_EQ(layer_of("layers.3.attn.scores"), 3);
  EXPECT_EQ(layer_of("layers.12"), 12);
  EXPECT_EQ(layer_of("lm_head"), -1);
  EXPECT_EQ(layer_of(""), -1);
}

TEST(FoldCasts, OfAnOutputThatEveryReaderCasts) {
  const RunConfig config = tiny_config(Edition::k2025, Precision::kBFloat16);
  PipelineOptions passes = compile_options(config);
  const Graph folded = step_graph(config, passes);
  passes.compile = false;
  const Graph apart = step_graph(config, passes);
  EXPECT_LT(count(folded, "cast"), count(apart, "cast"));
  for (const Node& node : folded.nodes) {
    if (std::string(node.op->name) == "rms_norm" && node.annotations.scope != "ln_final") {
      EXPECT_EQ(folded.value(node.outputs[0]).type.dtype, DType::kBFloat16) << node.annotations.scope;
    }
  }
}

TEST(FoldAddends, ResidualsAndSumsOfGradientsGoIntoProductsAndNorms) {
  for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
    const RunConfig config = tiny_config(Edition::k2025, dtype);
    EXPECT_EQ(count(step_graph(config, compile_options(config)), "add"), 0) << name_of(dtype);
  }
  // What is left: the two embeddings, and the two gradients of the tied weight.
  const RunConfig config = tiny_config(Edition::kGpt2);
  EXPECT_EQ(count(step_graph(config, compile_options(config)), "add"), 2);
}

TEST(FoldAddends, OnlyWhereNobodyElseReadsTheProduct) {
  Builder build;
  const TensorType type = contiguous_type(DType::kFloat32, {4, 4});
  const ValueId a = build.source("a", type, Role::kInput);
  const ValueId b = build.source("b", type, Role::kInput);
  const ValueId alone = add(build, a, matmul(build, a, b));
  const ValueId shared = matmul(build, b, a);
  const ValueId sum = add(build, shared, a);
  const ValueId stretched =
      add(build, matmul(build, a, a), build.source("row", contiguous_type(DType::kFloat32, {4}), Role::kInput));
  build.output("alone", alone);
  build.output("shared", shared);
  build.output("sum", sum);
  build.output("stretched", stretched);
  const Graph graph = fold_addends(build.finish());
  verify(graph, "fold_addends");
  EXPECT_EQ(count(graph, "add"), 2);
  EXPECT_EQ(graph.producer(graph.find_output("alone"))->op->name, std::string("matmul"));
}

TEST(OptimizerInBackward, ChangesNoBitAndKeepsNoGradient) {
  for (const Edition edition : kEditions) {
    const RunConfig config = tiny_config(edition);
    PipelineOptions passes = compile_options(config);
    const std::vector<double> after = losses(config, passes);
    passes.optimizer_in_backward = true;
    EXPECT_EQ(losses(config, passes), after) << name_of(edition);
    const Graph graph = step_graph(config, passes);
    bool optimized = false;
    bool interleaved = false;
    for (const Node& node : graph.nodes) {
      optimized = optimized || node.annotations.phase == Phase::kOptimizer;
      interleaved = interleaved || (optimized && node.annotations.phase == Phase::kBackward);
    }
    EXPECT_TRUE(interleaved);
  }
}

TEST(OptimizerInBackward, WaitsForTheLastReaderOfAWeight) {
  Builder build;
  const TensorType type = contiguous_type(DType::kFloat32, {4});
  const ValueId w = build.source("w", type, Role::kParameter);
  build.current.phase = Phase::kBackward;
  const ValueId grad = neg(build, w);
  const ValueId later = square(build, w);
  build.output("loss", sum_all(build, later));
  build.current.phase = Phase::kOptimizer;
  assign(build, w, sub(build, w, grad));
  const Graph graph = optimizer_in_backward(build.finish());
  verify(graph, "optimizer_in_backward");  // nobody reads a state after its update
  EXPECT_EQ(count(graph, "assign"), 1);
}

}  // namespace
}  // namespace laptime::test
