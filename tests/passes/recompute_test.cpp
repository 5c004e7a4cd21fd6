// recompute: results stay bit-identical, and forward saves only the values that the recompute rule allows.
#include "passes/recompute.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "passes/saved.h"
#include "passes/small_steps.h"

namespace laptime::test {
namespace {

TEST(Recompute, CompiledStepIsBitIdentical) {
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

TEST(Recompute, EagerStepIsBitIdentical) {
  const RunConfig config = tiny_config(Edition::k2025);
  PipelineOptions passes = eager_options(config);
  const std::vector<std::byte> kept = bits(config, passes);
  passes.recompute = {false, 1, 2};
  EXPECT_EQ(bits(config, passes), kept);
}

TEST(Recompute, RecomputesParameterCopiesOnlyOnRequest) {
  const RunConfig config = tiny_config(Edition::k2025, Precision::kBFloat16);
  PipelineOptions passes = compile_options(config);
  passes.shared_casts = SharedCasts::kKeep;
  const auto copies_made_again = [&](bool parameter_copies) {
    passes.recompute = {.local = true, .parameter_copies = parameter_copies};
    const Graph graph = step_graph(config, passes);
    return std::ranges::count_if(graph.nodes, [&](const Node& node) {
      return node.annotations.recomputed && graph.value(node.outputs[0]).role == Role::kAutocastCopy;
    });
  };
  EXPECT_GT(copies_made_again(true), 0);
  EXPECT_EQ(copies_made_again(false), 0);
}

// A clone beside a copy that forward of the next micro-batch still reads would double the memory of the copies.
TEST(Recompute, RecomputesSharedParameterCopiesOnlyAfterTheLastForward) {
  RunConfig config = tiny_config(Edition::k2025, Precision::kBFloat16);
  config.micro_batches = config.model.batch_size = 2;
  PipelineOptions passes = compile_options(config);
  passes.shared_casts = SharedCasts::kKeep;
  passes.recompute = {};
  const std::vector<std::byte> kept = bits(config, passes);
  passes.recompute = {.group = 1, .layers = config.model.num_layers};
  EXPECT_EQ(bits(config, passes), kept);
  const Graph graph = step_graph(config, passes);
  bool has_forward_ended = true;
  int64_t copies = 0;
  int64_t early_clones = 0;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (node.annotations.phase == Phase::kForward) has_forward_ended = false;
    if (!node.annotations.recomputed) continue;
    const bool is_copy = graph.value(node.outputs[0]).role == Role::kAutocastCopy;
    copies += is_copy ? 1 : 0;
    early_clones += has_forward_ended ? 0 : 1;
    EXPECT_TRUE(has_forward_ended || !is_copy) << "node " << i;
  }
  EXPECT_GT(copies, 0);
  EXPECT_GT(early_clones, 0);
}

TEST(Recompute, BlockModeSavesBlockInputsOnly) {
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
  // Blocks save only their inputs; the embedding, the final norm and the loss save as much as before.
  EXPECT_LT(saved_bytes(graph), local - 5 * residual);
  EXPECT_LE(saved_bytes(graph), (6 + 2) * residual + 2 * tokens * model.vocab_size * 4);
  for (const Node& node : graph.nodes) {
    if (node.annotations.recomputed) {
      EXPECT_EQ(node.annotations.phase, Phase::kBackward);
    }
  }
}

// A block of the 2025 model saves at most 4 (7 N d + 2 N d_ff + N h + 2 N) bytes if norms and gates are recomputed. The
// term 2 N is the 1/rms of the two norms.
TEST(Recompute, SavesAtMostTheExpectedBytesPerBlock) {
  RunConfig config = tiny_config(Edition::k2025);
  config.pass = Pass::kForwardBackward;
  const auto saved_with = [&](int64_t layers) {
    config.model.num_layers = layers;
    return saved_bytes(step_graph(config, compile_options(config)));
  };
  const ModelConfig& model = config.model;
  const int64_t n = model.batch_size * model.context_length;
  const int64_t block = saved_with(3) - saved_with(2);
  EXPECT_LE(block, 4 * (7 * n * model.d_model + 2 * n * model.d_ff + n * model.num_heads + 2 * n));
}

}  // namespace
}  // namespace laptime::test
