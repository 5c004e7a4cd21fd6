// pad_rows: results that it pads, results that it leaves alone, and unchanged losses.
#include "passes/pad_rows.h"

#include <gtest/gtest.h>

#include "graph/structural_ops.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/matmul/matmul.h"
#include "ops/pointwise/pointwise.h"
#include "passes/small_steps.h"
#include "support/types.h"

namespace laptime::test {
namespace {

PipelineOptions padding_passes(const RunConfig& config, bool pads) {
  PipelineOptions options = compile_options(config);
  options.shared_casts = SharedCasts::kKeep;
  options.recompute.parameter_copies = false;
  options.pad_rows = pads;
  return options;
}

int64_t padded_values(const Graph& graph) {
  return std::ranges::count_if(graph.nodes, [&](const Node& node) {
    const TensorType& type = graph.value(node.outputs[0]).type;
    return node.op->kind != OpKind::kView && type.storage_bytes() > type.bytes();
  });
}

// A product whose rows have 33 columns (132 bytes) and can be padded to 36 columns.
struct OddProduct {
  Builder build;
  ValueId a = build.source("a", floats({4, 16}), Role::kInput);
  ValueId b = build.source("b", floats({16, 33}), Role::kInput);
  ValueId c = build.source("c", floats({33, 16}), Role::kInput);
  ValueId product = matmul(build, a, b);

  Graph padded(ValueId result) {
    build.output("result", result);
    Graph graph = pad_rows(build.finish());
    verify(graph, "pad_rows");
    return graph;
  }
};

TEST(PadRows, PadsAProductReadByAnotherProduct) {
  OddProduct on;
  const Graph graph = on.padded(matmul(on.build, on.product, on.c));
  ASSERT_EQ(padded_values(graph), 1);
  EXPECT_EQ(graph.value(graph.nodes[0].outputs[0]).type.layout.strides, (Dims{36, 1}));
  EXPECT_EQ(graph.storage_bytes(graph.value(graph.nodes[0].outputs[0]).storage), (3 * 36 + 33) * 4);
}

TEST(PadRows, PadsThroughViews) {
  OddProduct on;
  const ValueId columns = transpose(on.build, reshape(on.build, on.product, {4, 33}), 0, 1);
  EXPECT_EQ(padded_values(on.padded(matmul(on.build, columns, on.a))), 1);
}

TEST(PadRows, DoesNotPadAProductReadByExp) {
  OddProduct on;
  EXPECT_EQ(padded_values(on.padded(exp(on.build, on.product))), 0);
}

TEST(PadRows, DoesNotPadAnUnreadProduct) {
  OddProduct on;
  EXPECT_EQ(padded_values(on.padded(on.product)), 0);
}

TEST(PadRows, DoesNotPadAProductWhoseViewWouldNeedACopy) {
  OddProduct on;
  const ValueId wide = reshape(on.build, on.product, {2, 66});
  EXPECT_EQ(padded_values(on.padded(
                matmul(on.build, transpose(on.build, wide, 0, 1), on.build.source("d", floats({2, 5}), Role::kInput)))),
            0);
}

TEST(PadRows, DoesNotPadAlignedOrShortRows) {
  OddProduct on;
  for (const int64_t columns : {64, 31}) {
    const ValueId b = on.build.source("b" + std::to_string(columns), floats({16, columns}), Role::kInput);
    const ValueId c = on.build.source("c" + std::to_string(columns), floats({columns, 16}), Role::kInput);
    on.build.output("result", matmul(on.build, matmul(on.build, on.a, b), c));
  }
  EXPECT_EQ(padded_values(pad_rows(on.build.finish())), 0);
}

// An unpadded gradient cannot overwrite padded logits.
TEST(PadRows, DoesNotPadLogitsWithoutAPaddedGradient) {
  OddProduct on;
  const ValueId targets = on.build.source("targets", contiguous_type(DType::kInt64, {4}), Role::kInput);
  const ValueId log_sum_exp = on.build.source("log_sum_exp", contiguous_type(DType::kFloat64, {4}), Role::kInput);
  const ValueId one = on.build.source("one", floats({}), Role::kInput);
  const ValueId grad = on.build.emit_one(kCrossEntropyBackward, CrossEntropyBackwardAttributes{},
                                         {one, on.product, targets, log_sum_exp});
  const ValueId read = matmul(on.build, grad, on.c);
  OddProduct other = on;
  EXPECT_EQ(padded_values(on.padded(read)), 2);
  other.build.output("changed", exp(other.build, grad));
  EXPECT_EQ(padded_values(other.padded(read)), 0);
}

TEST(PadRows, PadsLogitsOfAnOddVocabulary) {
  for (const Edition edition : kEditions) {
    for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
      const RunConfig config = tiny_config(edition, dtype);
      const Graph graph = step_graph(config, padding_passes(config, true));
      EXPECT_EQ(padded_values(graph), 2) << name_of(edition) << ' ' << name_of(dtype);
      const Node& gradient =
          *std::ranges::find_if(graph.nodes, [](const Node& node) { return node.op == &kCrossEntropyBackward; });
      EXPECT_EQ(graph.value(gradient.inputs[1]).type, graph.value(gradient.outputs[0]).type);
    }
  }
}

TEST(PadRows, DoesNotChangeTheLosses) {
  for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
    for (const RunConfig& config : {tiny_config(Edition::kGpt2, dtype), odd_config(dtype)}) {
      const std::vector<double> before = losses(config, padding_passes(config, false));
      const std::vector<double> after = losses(config, padding_passes(config, true));
      for (size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i] / before[i], 1, 1e-3);
    }
  }
}

}  // namespace
}  // namespace laptime::test
