// Row groups: the order of forward and backward, the saved bytes, and sums of gradients.
#include "passes/row_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "ops/linear_cross_entropy/linear_cross_entropy.h"
#include "passes/saved.h"
#include "support/training.h"

namespace laptime::test {
namespace {

int64_t groups_of(const RunConfig& config) {
  const ModelConfig& model = config.model;
  return row_groups({model.batch_size, model.context_length, model.d_model}, {model.vocab_size, model.d_model});
}

Graph graph_of(const RunConfig& config, const StepOutputs& keep = {}) {
  return run_passes(build_train_step(config, keep), compile_options(config, true));
}

// The phases of the products in the head, in order, without consecutive repetitions.
std::vector<Phase> phases_of_head(const Graph& graph) {
  std::vector<Phase> phases;
  for (const Node& node : graph.nodes) {
    const Phase phase = node.annotations.phase;
    const bool multiplies = node.op->kind == OpKind::kContraction && node.annotations.region.part == "lm_head";
    if (multiplies && (phases.empty() || phases.back() != phase)) phases.push_back(phase);
  }
  return phases;
}

TEST(RowGroups, BackwardOfAGroupFollowsItsForward) {
  const RunConfig config = row_groups_config();
  const int64_t groups = groups_of(config);
  ASSERT_GT(groups, 2);
  std::vector<Phase> expected;
  for (int64_t group = 0; group < groups; ++group) {
    expected.push_back(Phase::kForward);
    expected.push_back(Phase::kBackward);
  }
  EXPECT_EQ(phases_of_head(graph_of(config)), expected);
}

// True if no node of forward follows the first node of a layer's backward.
bool forward_ends_in_head(const Graph& graph) {
  size_t last_forward = 0;
  size_t first_of_layers = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeAnnotations& at = graph.nodes[i].annotations;
    if (at.phase == Phase::kForward) last_forward = i;
    if (at.phase == Phase::kBackward && at.region.layer >= 0 && first_of_layers == 0) first_of_layers = i;
  }
  return last_forward < first_of_layers;
}

TEST(RowGroups, LayerBackwardBeginsAfterForwardEnds) {
  EXPECT_TRUE(forward_ends_in_head(graph_of(row_groups_config())));
}

TEST(RowGroups, LayerBackwardBeginsAfterForwardEndsIfOpsAreLowered) {
  for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16, Precision::kFloat16}) {
    for (const char* lowered : {"linear", "cross_entropy"}) {
      RunConfig config = row_groups_config(dtype);
      if (dtype == Precision::kFloat16) config.loss_scale = "dynamic";
      PipelineOptions options = compile_options(config, true);
      std::erase(options.keep, lowered);
      EXPECT_TRUE(forward_ends_in_head(run_passes(build_train_step(config), options)))
          << name_of(dtype) << ' ' << lowered;
    }
  }
}

TEST(RowGroups, SavedBytesExcludeMostLogits) {
  const RunConfig config = row_groups_config();
  const ModelConfig& model = config.model;
  const int64_t logits = model.batch_size * model.context_length * model.vocab_size * 4;
  const Graph whole = run_passes(build_train_step(config), compile_options(config));
  EXPECT_GE(saved_bytes(whole) - saved_bytes(graph_of(config)), logits - 2 * logits / groups_of(config));
}

// The gradient of the head's weight is summed in place: each group adds to it.
TEST(RowGroups, AccumulatesGradientsWithoutSumNodes) {
  const Graph graph = graph_of(row_groups_config());
  for (const Node& node : graph.nodes) {
    const bool of_head = node.annotations.region.part == "lm_head" && node.annotations.phase == Phase::kBackward;
    EXPECT_FALSE(of_head && node.op->is_sum) << node.op->name;
  }
}

// In bfloat16, the sum would be rounded after each group.
TEST(RowGroups, SumsGradientsOfWeightsInFloat32) {
  RunConfig config = row_groups_config();
  config.dtype = Precision::kBFloat16;
  const Graph graph = graph_of(config);
  const Shape weight{config.model.vocab_size, config.model.d_model};
  int64_t products = 0;
  for (const Node& node : graph.nodes) {
    if (node.annotations.phase != Phase::kBackward || node.op->kind != OpKind::kContraction) continue;
    const TensorType& type = graph.value(node.outputs[0]).type;
    if (type.shape() != weight) continue;
    EXPECT_EQ(type.dtype, DType::kFloat32);
    ++products;
  }
  EXPECT_EQ(products, groups_of(config));
}

TEST(RowGroups, KeepsAllLogitsIfTheyAreAnOutput) {
  const RunConfig config = row_groups_config();
  const Graph graph = graph_of(config, {.logits = true, .gradients = false, .rank = 0});
  const auto logits = std::find_if(graph.outputs.begin(), graph.outputs.end(),
                                   [](const GraphOutput& output) { return output.name == output::kLogits; });
  ASSERT_NE(logits, graph.outputs.end());
  EXPECT_EQ(graph.value(logits->value).type.shape(),
            (Shape{config.model.batch_size, config.model.context_length, config.model.vocab_size}));
}

}  // namespace
}  // namespace laptime::test
