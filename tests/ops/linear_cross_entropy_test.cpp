// Cross entropy of a linear layer: its FLOPs, and how it is lowered.
#include "ops/linear_cross_entropy/linear_cross_entropy.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace laptime::test {
namespace {

struct Lowered {
  std::vector<ValueId> out;
  Graph graph;
};

Lowered lower(std::vector<ValueId> (*lowering)(Builder&, const Attributes&, std::span<const ValueId>), const Shape& x,
              int64_t columns) {
  Builder build;
  Shape rows = x;
  rows.erase(rows.rank() - 1);
  const std::vector<ValueId> in{
      build.source("x", contiguous_type(DType::kFloat32, x), Role::kInput),
      build.source("weight", contiguous_type(DType::kFloat32, {columns, x.back()}), Role::kParameter),
      build.source("targets", contiguous_type(DType::kInt64, rows), Role::kInput)};
  build.current.scope = "loss";
  build.current.parts = {{"head", "forward"}, {"loss", "criterion"}};
  Lowered lowered;
  lowered.out = lowering(build, LinearCrossEntropyAttributes{}, in);
  lowered.graph = build.finish();
  verify(lowered.graph, "lowered");
  return lowered;
}

std::vector<const Node*> nodes_of(const Graph& graph, const OpCard& op) {
  std::vector<const Node*> nodes;
  for (const Node& node : graph.nodes) {
    if (node.op == &op) nodes.push_back(&node);
  }
  return nodes;
}

TEST(LinearCrossEntropy, CountsTheFlopsOfItsParts) {
  const std::vector<TensorType> in{contiguous_type(DType::kFloat32, {6, 3}), contiguous_type(DType::kFloat32, {5, 3}),
                                   contiguous_type(DType::kInt64, {6})};
  const Attributes attributes = LinearCrossEntropyAttributes{};
  EXPECT_EQ(flops_of({&kLinearCrossEntropy, attributes, in, kLinearCrossEntropy.infer(attributes, in)}),
            2 * 6 * 3 * 5 + 5 * 6 * 5);
}

TEST(LinearCrossEntropy, DecomposesIntoHeadAndLoss) {
  const auto [out, graph] = lower(kLinearCrossEntropy.decompose, {2, 3, 4}, 5);
  ASSERT_EQ(out.size(), 2U);
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_EQ(graph.nodes[0].op, &kLinear);
  EXPECT_EQ(graph.nodes[0].annotations.scope, "head");
  EXPECT_EQ(graph.nodes[0].annotations.frame, "forward");
  EXPECT_EQ(graph.nodes[1].op, &kCrossEntropy);
  EXPECT_EQ(graph.nodes[1].annotations.scope, "loss");
  EXPECT_EQ(graph.nodes[1].annotations.frame, "criterion");
  EXPECT_TRUE(graph.nodes[1].annotations.parts.empty());
  EXPECT_EQ(graph.producer(out[0]), &graph.nodes[1]);
  EXPECT_EQ(graph.producer(out[1]), &graph.nodes[0]);
}

TEST(LinearCrossEntropy, SplitsIntoDeferredGroupsOfRows) {
  const auto [out, graph] = lower(kLinearCrossEntropy.split_rows, {2, 8, 4}, 10);
  EXPECT_EQ(graph.value(out[0]).type.shape(), Shape{});
  EXPECT_EQ(graph.value(out[1]).type.shape(), (Shape{2, 8, 10}));
  const std::vector<const Node*> heads = nodes_of(graph, kLinear);
  const std::vector<const Node*> losses = nodes_of(graph, kCrossEntropy);
  ASSERT_EQ(heads.size(), 4U);
  ASSERT_EQ(losses.size(), 4U);
  for (const Node* const node : heads) {
    EXPECT_TRUE(node->annotations.deferred);
    EXPECT_EQ(node->annotations.scope, "head");
    EXPECT_EQ(graph.value(node->outputs[0]).type.shape(), (Shape{4, 10}));
  }
  for (const Node* const node : losses) EXPECT_TRUE(node->annotations.deferred);
  EXPECT_FALSE(graph.producer(out[0])->annotations.deferred);
}

TEST(LinearCrossEntropy, LogitsOfAGroupAreNoLargerThanTheLargerFactor) {
  EXPECT_EQ(row_groups({4, 1024, 768}, {10'000, 768}), 8);
  EXPECT_EQ(row_groups({4, 256, 768}, {10'000, 768}), 2);
  EXPECT_EQ(row_groups({4, 256, 768}, {256, 768}), 1);
  EXPECT_EQ(row_groups({33, 100}, {1007, 100}), 1) << "below the limit";
  EXPECT_EQ(row_groups({6, 1}, {1000, 1}), 2) << "an odd number of rows is not halved";
}

TEST(LinearCrossEntropy, RunsFewRowsAsOneGroup) {
  const auto [out, graph] = lower(kLinearCrossEntropy.split_rows, {2, 2, 8}, 5);
  EXPECT_EQ(graph.nodes.size(), 2U);
}

}  // namespace
}  // namespace laptime::test
