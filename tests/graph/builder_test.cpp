// Builder (views, copies for impossible views, constants, updates, names), Replay, and properties of finished graphs.
#include "graph/builder.h"

#include <gtest/gtest.h>

#include "graph/structural_ops.h"
#include "ops/adamw/adamw.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"
#include "ops/rope/rope.h"
#include "support/types.h"

namespace laptime {
namespace {

using test::floats;

const Node& maker(const Builder& build, ValueId value) { return *build.graph().producer(value); }
StorageId storage(const Builder& build, ValueId value) { return build.graph().value(value).storage; }

TEST(Builder, ViewSharesStorage) {
  Builder build;
  const ValueId x = build.source("x", floats({2, 3, 4}), Role::kParameter);
  const ValueId t = transpose(build, x, 0, -1);
  EXPECT_EQ(build.shape(t), (Shape{4, 3, 2}));
  EXPECT_EQ(build.type(t).layout.strides, (Dims{1, 4, 12}));
  EXPECT_EQ(storage(build, t), storage(build, x));
  EXPECT_EQ(build.graph().value(t).role, Role::kParameter);
  const ValueId row = slice(build, x, -1, 1, 2, 2);
  EXPECT_EQ(build.shape(row), (Shape{2, 3, 2}));
  EXPECT_EQ(build.type(row).layout.offset, 1);
  EXPECT_EQ(build.type(row).layout.strides, (Dims{12, 4, 2}));
  EXPECT_EQ(storage(build, row), storage(build, x));
  EXPECT_EQ(build.graph().nodes.size(), 2U);
}

TEST(Builder, IdentityViewAddsNoNode) {
  Builder build;
  const ValueId x = build.source("x", floats({2, 3}), Role::kParameter);
  EXPECT_EQ(reshape(build, x, {2, 3}), x);
  EXPECT_EQ(contiguous(build, x), x);
  EXPECT_EQ(cast(build, x, DType::kFloat32), x);
  EXPECT_TRUE(build.graph().nodes.empty());
}

TEST(Builder, InsertsCopyForImpossibleView) {
  Builder build;
  const ValueId x = build.source("x", floats({2, 3}), Role::kParameter);
  const ValueId flat = reshape(build, transpose(build, x, 0, 1), {6});
  EXPECT_EQ(maker(build, flat).op, &kReshape);
  const ValueId copy = maker(build, flat).inputs[0];
  EXPECT_EQ(maker(build, copy).op, &kContiguous);
  EXPECT_NE(storage(build, flat), storage(build, x));
  EXPECT_EQ(build.graph().nodes.size(), 3U);
}

TEST(Builder, ConstantIsComputedOnceInSetUp) {
  Builder build;
  build.current = {Phase::kForward, "layers.0", "forward", false};
  const RopeTable first = rope_table(build, {8, 4, 10'000, DType::kFloat32});
  build.current.scope = "layers.1";
  const RopeTable second = rope_table(build, {8, 4, 10'000, DType::kFloat32});
  EXPECT_EQ(first.cos, second.cos);
  EXPECT_EQ(first.sin, second.sin);
  EXPECT_NE(rope_table(build, {8, 4, 10'001, DType::kFloat32}).cos, first.cos);
  EXPECT_EQ(build.graph().nodes.size(), 2U);
  EXPECT_EQ(maker(build, first.cos).annotations.phase, Phase::kSetup);
  EXPECT_EQ(maker(build, first.cos).annotations.scope, "");
  EXPECT_EQ(build.graph().value(first.sin).role, Role::kConstant);
  // Unlike constants, fills are not shared: every fill is a new value.
  EXPECT_NE(fill(build, {2}, 0, DType::kFloat32), fill(build, {2}, 0, DType::kFloat32));
}

TEST(Builder, UpdateKeepsStorageAndRole) {
  Builder build;
  const ValueId w = build.source("w", floats({3}), Role::kParameter);
  const ValueId next = assign(build, w, mul_scalar(build, w, 2));
  EXPECT_EQ(storage(build, next), storage(build, w));
  EXPECT_EQ(build.graph().value(next).role, Role::kParameter);
}

TEST(Builder, PointwiseKeepsTheMemoryOrderOfAxes) {
  Builder build;
  const ValueId x = build.source("x", floats({2, 3}), Role::kInput);
  const ValueId y = exp(build, transpose(build, x, 0, 1));
  EXPECT_EQ(build.type(y).layout.strides, (Dims{1, 3}));
  EXPECT_NE(storage(build, y), storage(build, x));
  const ValueId wide =
      add(build, build.source("row", floats({5, 1}), Role::kInput), build.source("column", floats({4}), Role::kInput));
  EXPECT_EQ(build.type(wide), floats({5, 4}));
}

TEST(Builder, ScopesNest) {
  Builder build;
  ValueId x = build.source("x", floats({3}), Role::kInput);
  {
    const auto outer = build.scope("layers.0");
    {
      const auto inner = build.scope("attn");
      x = build.name(exp(build, x), "scores");
    }
    EXPECT_EQ(maker(build, exp(build, x)).annotations.scope, "layers.0");
    build.name(exp(build, x), "");
  }
  EXPECT_EQ(build.current.scope, "");
  EXPECT_EQ(build.graph().value(x).annotations.name, "layers.0.attn.scores");
  EXPECT_EQ(maker(build, x).annotations.scope, "layers.0.attn");
  EXPECT_EQ(build.graph().values.back().annotations.name, "layers.0");
}

TEST(Builder, RegionIsTheLayerAndOutermostModule) {
  Builder build;
  ValueId x = build.source("x", floats({3}), Role::kInput);
  ValueId weight;
  const auto region_of = [&](ValueId value) { return maker(build, value).annotations.region; };
  {
    const auto layer = build.layer(2);
    EXPECT_EQ(region_of(exp(build, x)), (Region{2, ""}));
    const auto module = build.scope("attn");
    const auto inner = build.scope("q_proj");
    weight = build.source("layers.2.attn.q_proj.weight", floats({3}), Role::kParameter);
    x = build.name(exp(build, x), "");
    EXPECT_EQ(build.current.scope, "layers.2.attn.q_proj");
  }
  EXPECT_EQ(region_of(x), (Region{2, "attn"}));
  EXPECT_EQ(build.graph().value(x).annotations.region, (Region{2, "attn"}));
  EXPECT_EQ(build.graph().value(weight).annotations.region, (Region{2, "attn"}));
  EXPECT_EQ(build.current.region, Region{});
  {
    const auto parameter = build.scope_of(weight);
    const ValueId moment = build.source("m", floats({3}), Role::kOptimizerState);
    EXPECT_EQ(build.current.scope, "layers.2.attn.q_proj.weight");
    EXPECT_EQ(build.graph().value(moment).annotations.region, (Region{2, "attn"}));
  }
  const auto head = build.scope("lm_head");
  EXPECT_EQ(region_of(exp(build, x)), (Region{-1, "lm_head"}));
}

TEST(Builder, DecomposedPartsKeepTheirRegion) {
  Builder build;
  build.current.scope = "loss";
  build.current.parts = {{"layers.1.ffn", "forward", {1, "ffn"}}};
  const auto part = build.part(0);
  EXPECT_EQ(build.current.scope, "layers.1.ffn");
  EXPECT_EQ(build.current.region, (Region{1, "ffn"}));
}

TEST(Replay, SourcesKeepTheirRegions) {
  Builder build;
  {
    const auto layer = build.layer(1);
    const auto module = build.scope("ln1");
    build.source("layers.1.ln1.weight", floats({3}), Role::kParameter);
  }
  const Graph graph = build.finish();
  Replay replay(graph);
  EXPECT_EQ(replay.finish().values[0].annotations.region, (Region{1, "ln1"}));
}

TEST(Builder, RecordsWhichVariableHoldsAValue) {
  Builder build;
  build.current.frame = "forward";
  ValueId x = build.source("x", floats({3}), Role::kInput);
  const auto scope = build.scope("attn");
  {
    const auto frame = build.frame("softmax");
    x = build.hold(exp(build, x), "e");
  }
  EXPECT_EQ(build.current.frame, "forward");
  EXPECT_EQ(build.graph().value(x).annotations.held_by, "softmax@attn in forward:e");
}

TEST(BuilderDeath, RejectsInvalidNodes) {
  Builder build;
  const ValueId x = build.source("x", floats({2, 3}), Role::kParameter);
  const ValueId y = build.source("y", floats({4}), Role::kParameter);
  EXPECT_DEATH(add(build, x, ValueId{}), "add reads no value");
  EXPECT_DEATH(add(build, x, y), "\\[2, 3\\] with \\[4\\]");
  EXPECT_DEATH(assign(build, x, y), "");
  EXPECT_DEATH(reshape(build, x, {5}), "");
  EXPECT_DEATH(slice(build, x, 1, 2, 2), "");
}

// A graph with sources, a constant, views, an update, names and outputs.
Graph graph_with_all_kinds() {
  Builder build;
  const ValueId w = build.source("w", floats({2, 3}), Role::kParameter);
  const ValueId m = build.source("m", floats({2, 3}), Role::kOptimizerState);
  const auto scope = build.scope("module");
  const ValueId product = build.name(mul(build, w, transpose(build, reshape(build, m, {3, 2}), 0, 1)), "product");
  build.mark_role(product, Role::kGradient);
  build.output("sum", sum_all(build, product));
  build.current.phase = Phase::kOptimizer;
  const ValueId next = assign(build, m, product);
  build.output("next", next);
  rope_table(build, {8, 4, 10'000, DType::kFloat32});
  return build.finish();
}

TEST(Replay, CopiesEverything) {
  const Graph graph = graph_with_all_kinds();
  Replay replay(graph);
  for (const Node& node : graph.nodes) replay.copy(node);
  const Graph copy = replay.finish();
  EXPECT_EQ(print(copy), print(graph));
  verify(copy, "replay");
  for (size_t i = 0; i < graph.values.size(); ++i) EXPECT_EQ(copy.values[i].role, graph.values[i].role) << i;
  EXPECT_EQ(copy.find_source("m"), graph.find_source("m"));
  EXPECT_EQ(copy.find_output("next"), graph.find_output("next"));
  EXPECT_FALSE(copy.find_source("module.product").valid());
}

TEST(Replay, BindKeepsNamesAndRoles) {
  Builder build;
  const ValueId x = build.source("x", floats({3}), Role::kInput);
  const ValueId y = build.name(exp(build, x), "y");
  build.mark_role(y, Role::kGradient);
  build.output("y", y);
  const Graph graph = build.finish();
  Replay replay(graph);
  const ValueId other = neg(replay.to, replay[x]);
  replay.bind(y, other);
  const Graph changed = replay.finish();
  EXPECT_EQ(changed.find_output("y"), other);
  EXPECT_EQ(changed.value(other).annotations.name, "y");
  EXPECT_EQ(changed.value(other).role, Role::kGradient);
}

TEST(Print, ShowsTypesAttributesAndAnnotations) {
  Builder build;
  const ValueId x = build.source("x", floats({2, 3}), Role::kInput);
  build.current.phase = Phase::kBackward;
  const auto scope = build.scope("ffn");
  build.output("y", build.name(mul_scalar(build, transpose(build, x, 0, 1), 0.5), "half"));
  EXPECT_EQ(print(build.finish()),
            "input %0 float32 [2, 3] 'x'\n"
            "%1 float32 [3, 2] strides [1, 3] = permute(%0) {axes=[1, 0]}  # backward ffn\n"
            "%2 float32 [3, 2] strides [1, 3] 'ffn.half' = mul_scalar(%1) {value=0.5}  # backward ffn\n"
            "output y = %2\n");
}

TEST(Signature, TextStatesTheOpItsTypesAndItsAttributes) {
  Builder build;
  const ValueId x = build.source("x", floats({2, 3}), Role::kInput);
  const ValueId y = mul_scalar(build, transpose(build, x, 0, 1), 0.5);
  const Graph graph = build.finish();
  EXPECT_EQ(signature_of(graph, *graph.producer(y)).text(), "mul_scalar(float32 [3, 2] strides [1, 3]) {value=0.5}");
}

TEST(Signature, TextIsEqualForSlicesAtMultiplesOfAMemoryLine) {
  const auto text_of_rows_from = [&](int64_t begin) {
    TensorType rows = floats({8, 4});
    rows.layout.offset = begin * 4;
    return Signature{&kMulScalar, {}, {rows}, {rows}}.text();
  };
  EXPECT_EQ(text_of_rows_from(8), text_of_rows_from(0));
  EXPECT_EQ(text_of_rows_from(64), text_of_rows_from(0));
  EXPECT_EQ(text_of_rows_from(9), "mul_scalar(float32 [8, 4] offset 4)");
}

TEST(Costs, SliceBackwardWithAddendMovesOnlyTheSlice) {
  const Signature added{&kSliceBackward,
                        SliceBackwardAttributes{.shape = {8, 4}, .axis = 0, .begin = 2, .step = 1, .addend = true},
                        {floats({3, 4}), floats({8, 4})},
                        {floats({8, 4})}};
  EXPECT_EQ(bytes_of(added), 4 * 3 * 12);  // only the slice moves, not the rest of the addend
}

TEST(Costs, CountABroadcastOperandOnce) {
  Builder build;
  const ValueId x = build.source("x", floats({4, 8}), Role::kInput);
  const ValueId row = expand(build, build.source("row", floats({8}), Role::kInput), {4, 8});
  const ValueId y = add(build, x, row);
  const ValueId view = reshape(build, y, {32});
  const Graph graph = build.finish();
  EXPECT_EQ(bytes_of(signature_of(graph, *graph.producer(y))), 4 * (32 + 8 + 32));
  EXPECT_EQ(flops_of(signature_of(graph, *graph.producer(y))), 32);
  EXPECT_EQ(bytes_of(signature_of(graph, *graph.producer(view))), 0);
}

}  // namespace
}  // namespace laptime
