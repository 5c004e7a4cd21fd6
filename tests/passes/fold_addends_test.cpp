// fold_addends: sums that are folded into the op that produces an operand, and sums that are kept.
#include "passes/fold_addends.h"

#include <gtest/gtest.h>

#include "graph/structural_ops.h"
#include "ops/matmul/matmul.h"
#include "ops/pointwise/pointwise.h"
#include "passes/small_steps.h"
#include "support/types.h"

namespace laptime::test {
namespace {

struct Operands {
  Builder build;
  ValueId a = build.source("a", floats({4, 4}), Role::kInput);
  ValueId b = build.source("b", floats({4, 4}), Role::kInput);

  Graph folded(ValueId sum) {
    build.output("sum", sum);
    Graph graph = fold_addends(build.finish());
    verify(graph, "fold_addends");
    return graph;
  }
};

TEST(FoldAddends, FoldsSumIntoProduct) {
  Operands on;
  const Graph graph = on.folded(add(on.build, on.a, matmul(on.build, on.a, on.b)));
  EXPECT_EQ(count(graph, "add"), 0);
  const Node& product = *graph.producer(graph.find_output("sum"));
  EXPECT_EQ(product.op, &kMatmul);
  EXPECT_EQ(product.inputs.back(), graph.find_source("a"));
  EXPECT_TRUE(product_attributes(product.attributes).addend);
}

TEST(FoldAddends, FoldsThroughReshapes) {
  Operands on;
  const ValueId wide = reshape(on.build, matmul(on.build, on.a, on.b), {2, 8});
  const ValueId other = on.build.source("other", floats({2, 8}), Role::kInput);
  const Graph graph = on.folded(add(on.build, wide, other));
  EXPECT_EQ(count(graph, "add"), 0);
  EXPECT_EQ(graph.value(graph.find_output("sum")).type.shape(), (Shape{2, 8}));
}

TEST(FoldAddends, KeepsSumIfTheProductHasOtherReaders) {
  Operands on;
  const ValueId product = matmul(on.build, on.b, on.a);
  on.build.output("product", product);
  EXPECT_EQ(count(on.folded(add(on.build, product, on.a)), "add"), 1);
}

TEST(FoldAddends, KeepsSumWithBroadcastOperand) {
  Operands on;
  const ValueId row = on.build.source("row", floats({4}), Role::kInput);
  EXPECT_EQ(count(on.folded(add(on.build, matmul(on.build, on.a, on.a), row)), "add"), 1);
}

TEST(FoldAddends, KeepsSumIfTheAddendIsComputedLater) {
  Operands on;
  const ValueId product = matmul(on.build, on.a, on.b);
  EXPECT_EQ(count(on.folded(add(on.build, product, exp(on.build, on.a))), "add"), 1);
}

TEST(FoldAddends, FoldsOneAddendPerOp) {
  Operands on;
  const ValueId once = add(on.build, matmul(on.build, on.a, on.b), on.a);
  EXPECT_EQ(count(on.folded(add(on.build, once, on.b)), "add"), 1);
}

TEST(FoldAddends, KeepsSumInAnotherPhase) {
  Operands on;
  const ValueId product = matmul(on.build, on.a, on.b);
  on.build.current.phase = Phase::kBackward;
  EXPECT_EQ(count(on.folded(add(on.build, product, on.a)), "add"), 1);
}

TEST(FoldAddends, FoldsResidualsAndGradientSums) {
  for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
    const RunConfig config = tiny_config(Edition::k2025, dtype);
    EXPECT_EQ(count(step_graph(config, compile_options(config)), "add"), 0) << name_of(dtype);
  }
  // GPT-2 keeps the sum of its two embeddings as an op.
  const RunConfig config = tiny_config(Edition::kGpt2);
  EXPECT_EQ(count(step_graph(config, compile_options(config)), "add"), 1);
}

}  // namespace
}  // namespace laptime::test
