// fold_casts: casts that are folded into the op before or after them, and casts that are kept.
#include "passes/fold_casts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/structural_ops.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/matmul/matmul.h"
#include "ops/norm/norm.h"
#include "ops/pointwise/pointwise.h"
#include "passes/dead_code.h"
#include "passes/small_steps.h"
#include "support/types.h"

namespace laptime::test {
namespace {

// Runs the pass and removes the casts that every reader has folded.
Graph without_unread_casts(const Graph& graph) {
  Graph folded = dead_code(fold_casts(graph));
  verify(folded, "fold_casts");
  return folded;
}

// An RMSNorm of a float32 tensor (4, 4). An RMSNorm can round its output.
struct NormModel {
  Builder build;
  ValueId x = build.source("x", floats({4, 4}), Role::kInput);
  ValueId weight = build.source("weight", floats({4}), Role::kParameter);
  ValueId y = rms_norm(build, x, weight, 1e-5);

  void output_as(DType dtype, const std::string& name) { build.output(name, exp(build, cast(build, y, dtype))); }
  Graph folded() { return without_unread_casts(build.finish()); }
};

DType dtype_of_norm(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.op == &kRmsNorm) return graph.value(node.outputs[0]).type.dtype;
  }
  ADD_FAILURE() << "no rms_norm";
  return DType::kInt64;
}

TEST(FoldCasts, FoldsOutputCastSharedByAllReaders) {
  NormModel model;
  model.output_as(DType::kBFloat16, "a");
  model.output_as(DType::kBFloat16, "b");
  const Graph graph = model.folded();
  EXPECT_EQ(count(graph, "cast"), 0);
  EXPECT_EQ(dtype_of_norm(graph), DType::kBFloat16);
  EXPECT_EQ(graph.value(graph.find_output("a")).type.dtype, DType::kBFloat16);
}

TEST(FoldCasts, KeepsSharedInputCastOnRequest) {
  Builder build;
  const ValueId weight = cast(build, build.source("w", floats({4, 4}), Role::kParameter), DType::kBFloat16);
  const ValueId x = cast(build, build.source("x", floats({4, 4}), Role::kInput), DType::kBFloat16);
  build.output("a", matmul(build, x, weight));
  build.output("b", matmul(build, weight, weight));
  const Graph graph = build.finish();
  EXPECT_EQ(count(dead_code(fold_casts(graph)), "cast"), 0);
  const Graph kept = dead_code(fold_casts(graph, SharedCasts::kKeep));
  verify(kept, "fold_casts");
  EXPECT_EQ(count(kept, "cast"), 1);  // the cast of the weight; the cast of x is folded into its only reader
}

TEST(FoldCasts, KeepsProductsNarrowIfReadersCanWidenThem) {
  Builder build;
  const ValueId x = build.source("x", contiguous_type(DType::kBFloat16, {4, 4}), Role::kInput);
  const ValueId targets = build.source("targets", contiguous_type(DType::kInt64, {4}), Role::kInput);
  build.output("widened by the loss", cross_entropy(build, cast(build, matmul(build, x, x), DType::kFloat32), targets,
                                                    CrossEntropyForm::kLogSoftmax));
  build.output("not by exp", exp(build, cast(build, matmul(build, x, x), DType::kFloat32)));
  const Graph graph = build.finish();
  const auto types_of_products = [](const Graph& folded) {
    std::vector<DType> types;
    for (const Node& node : folded.nodes) {
      if (node.op == &kMatmul) types.push_back(folded.value(node.outputs[0]).type.dtype);
    }
    return types;
  };
  EXPECT_THAT(types_of_products(fold_casts(graph)), testing::Each(DType::kFloat32));
  const Graph kept = dead_code(fold_casts(graph, SharedCasts::kKeep));
  verify(kept, "fold_casts");
  EXPECT_THAT(types_of_products(kept), testing::UnorderedElementsAre(DType::kBFloat16, DType::kFloat32));
}

TEST(FoldCasts, FoldsOutputCastAfterAView) {
  NormModel model;
  const ValueId transposed = transpose(model.build, model.y, 0, 1);
  model.build.output("a", exp(model.build, cast(model.build, transposed, DType::kBFloat16)));
  const Graph graph = model.folded();
  EXPECT_EQ(count(graph, "cast"), 0);
  EXPECT_EQ(dtype_of_norm(graph), DType::kBFloat16);
}

TEST(FoldCasts, KeepsCastIfAReaderNeedsTheOriginal) {
  NormModel read_as_it_is;
  read_as_it_is.output_as(DType::kBFloat16, "a");
  read_as_it_is.build.output("b", exp(read_as_it_is.build, read_as_it_is.y));
  const Graph read = read_as_it_is.folded();
  EXPECT_EQ(count(read, "cast"), 1);
  EXPECT_EQ(dtype_of_norm(read), DType::kFloat32);

  NormModel is_an_output;
  is_an_output.output_as(DType::kBFloat16, "a");
  is_an_output.build.output("y", is_an_output.y);
  const Graph kept = is_an_output.folded();
  EXPECT_EQ(count(kept, "cast"), 1);
  EXPECT_EQ(dtype_of_norm(kept), DType::kFloat32);
}

TEST(FoldCasts, KeepsCastsToTwoTypes) {
  NormModel model;
  model.output_as(DType::kBFloat16, "a");
  model.output_as(DType::kFloat16, "b");
  const Graph graph = model.folded();
  EXPECT_EQ(count(graph, "cast"), 2);
  EXPECT_EQ(dtype_of_norm(graph), DType::kFloat32);
}

TEST(FoldCasts, KeepsCastOfUnsupportedProducer) {
  Builder build;
  const ValueId y = exp(build, build.source("x", floats({4, 4}), Role::kInput));
  build.output("y", neg(build, cast(build, y, DType::kBFloat16)));
  EXPECT_EQ(count(without_unread_casts(build.finish()), "cast"), 1);
}

TEST(FoldCasts, FoldsInputCastIntoEveryReader) {
  Builder build;
  const ValueId x = build.source("x", floats({4, 4}), Role::kInput);
  const ValueId lower = cast(build, x, DType::kBFloat16);
  build.output("a", matmul(build, lower, lower));
  const ValueId weight = build.source("w", contiguous_type(DType::kBFloat16, {4, 4}), Role::kParameter);
  build.output("b", matmul(build, lower, weight));
  const Graph graph = without_unread_casts(build.finish());
  EXPECT_EQ(count(graph, "cast"), 0);
  const Node& product = *graph.producer(graph.find_output("a"));
  EXPECT_EQ(product.inputs[0], graph.find_source("x"));
  EXPECT_EQ(product_attributes(product.attributes).compute, DType::kBFloat16);
  EXPECT_EQ(graph.value(product.outputs[0]).type.dtype, DType::kBFloat16);
}

TEST(FoldCasts, KeepsInputCastIfAReaderCannotFold) {
  Builder build;
  const ValueId lower = cast(build, build.source("x", floats({4, 4}), Role::kInput), DType::kBFloat16);
  build.output("product", matmul(build, lower, lower));
  build.output("exp", exp(build, lower));  // exp cannot fold a cast
  const Graph graph = without_unread_casts(build.finish());
  EXPECT_EQ(count(graph, "cast"), 1);
  EXPECT_TRUE(graph.producer(graph.find_output("product"))->attributes.empty());
}

TEST(FoldCasts, KeepsCastWhoseResultIsAStepOutput) {
  Builder build;
  const ValueId lower = cast(build, build.source("x", floats({4, 4}), Role::kInput), DType::kBFloat16);
  build.output("product", matmul(build, lower, lower));
  build.output("lower", lower);
  EXPECT_EQ(count(without_unread_casts(build.finish()), "cast"), 1);
}

TEST(FoldCasts, KeepsCastThatChangesLayout) {
  Builder build;
  const ValueId x = build.source("x", floats({4, 4}), Role::kInput);
  const ValueId every_second = slice(build, x, 1, 0, 2, 2);
  const ValueId lower = cast(build, every_second, DType::kBFloat16);
  const ValueId weight = build.source("w", contiguous_type(DType::kBFloat16, {2, 4}), Role::kParameter);
  build.output("product", matmul(build, lower, weight));
  EXPECT_EQ(count(without_unread_casts(build.finish()), "cast"), 1);
}

TEST(FoldCasts, CompiledNormsRoundTheirOutputs) {
  const RunConfig config = tiny_config(Edition::k2025, Precision::kBFloat16);
  PipelineOptions passes = compile_options(config);
  const Graph folded = step_graph(config, passes);
  passes.compile = false;
  const Graph apart = step_graph(config, passes);
  EXPECT_LT(count(folded, "cast"), count(apart, "cast"));
  for (const Node& node : folded.nodes) {
    if (node.op == &kRmsNorm && node.annotations.scope != "ln_final") {
      EXPECT_EQ(folded.value(node.outputs[0]).type.dtype, DType::kBFloat16) << node.annotations.scope;
    }
  }
}

}  // namespace
}  // namespace laptime::test
