// autocast: which values are cast, how often, and how long the copies live.
#include "passes/autocast.h"

#include <gtest/gtest.h>

#include "graph/structural_ops.h"
#include "ops/matmul/matmul.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"
#include "ops/softmax/softmax.h"
#include "ops/stack/stack.h"
#include "support/types.h"

namespace laptime {
namespace {

using test::floats;

struct Model {
  Builder build;
  ValueId w = build.source("w", floats({4, 4}), Role::kParameter);
  ValueId x = build.source("x", floats({4, 4}), Role::kActivation);

  Graph cast_to_bfloat16() {
    Graph graph = autocast(build.finish(), DType::kBFloat16);
    verify(graph, "autocast");
    return graph;
  }
};

int64_t count(const Graph& graph, const OpCard& op) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.op == &op; });
}

DType dtype_of(const Graph& graph, const std::string& output) {
  return graph.value(graph.find_output(output)).type.dtype;
}

TEST(Autocast, CastsAParameterOnceBeforeItsViews) {
  Model model;
  const ValueId turned = transpose(model.build, model.w, 0, 1);
  const ValueId once = matmul(model.build, model.w, turned);
  model.build.output("y", matmul(model.build, once, turned));
  const Graph graph = model.cast_to_bfloat16();
  EXPECT_EQ(count(graph, kCast), 1);
  EXPECT_EQ(dtype_of(graph, "y"), DType::kBFloat16);
  const Node& cast = graph.nodes[1];
  ASSERT_EQ(cast.op, &kCast);
  EXPECT_EQ(cast.inputs[0], graph.find_source("w"));  // the cast reads the parameter itself, not a view
  EXPECT_EQ(graph.value(cast.outputs[0]).role, Role::kAutocastCopy);
  EXPECT_EQ(graph.value(cast.outputs[0]).annotations.held_by, ":w");  // autocast caches the copy until forward ends
}

TEST(Autocast, CastsAnActivationForEachUse) {
  Model model;
  const ValueId h = exp(model.build, model.x);
  model.build.output("a", matmul(model.build, h, model.w));
  model.build.output("b", matmul(model.build, h, model.w));
  const Graph graph = model.cast_to_bfloat16();
  EXPECT_EQ(count(graph, kCast), 3);  // two casts of h, one of w
  EXPECT_EQ(dtype_of(graph, "a"), DType::kBFloat16);
}

TEST(Autocast, CastsAParameterOncePerMicroBatchUnlessCopiesAreShared) {
  const auto casts_of_parameter = [](bool shares_copies) {
    Model model;
    for (const char* name : {"first", "second"}) {
      model.build.current.phase = Phase::kForward;
      const ValueId product = matmul(model.build, matmul(model.build, model.x, model.w), model.w);
      const ValueId loss = sum_all(model.build, product);
      model.build.current.phase = Phase::kBackward;
      model.build.output(name, gradients(model.build, loss, std::vector<ValueId>{model.w})[0]);
    }
    const Graph graph = autocast(model.build.finish(), DType::kBFloat16, shares_copies);
    return std::ranges::count_if(
        graph.nodes, [&](const Node& node) { return node.op == &kCast && node.inputs[0] == graph.find_source("w"); });
  };
  EXPECT_EQ(casts_of_parameter(false), 2);
  EXPECT_EQ(casts_of_parameter(true), 1);
}

TEST(Autocast, FollowsThePolicyOfEachOp) {
  Model model;
  const ValueId product = matmul(model.build, model.x, model.w);  // runs in bfloat16
  model.build.output("product", product);
  model.build.output("twice", mul_scalar(model.build, product, 2));     // keeps the type of its input
  model.build.output("mixed", add(model.build, product, model.x));      // promotes to the wider type
  model.build.output("exp", exp(model.build, product));                 // runs in float32
  model.build.output("softmax", softmax(model.build, product));         // runs in float32
  model.build.output("sum", sum_all(model.build, product));             // runs in float32
  const std::vector<ValueId> largest = max_last(model.build, product);  // keeps the type
  model.build.output("max", largest[0]);
  model.build.output("place", largest[1]);
  model.build.output("narrow", concat(model.build, product, product, 0));
  model.build.output("wide", concat(model.build, product, model.x, 0));  // promotes to the wider type
  const Graph graph = model.cast_to_bfloat16();
  EXPECT_EQ(dtype_of(graph, "product"), DType::kBFloat16);
  EXPECT_EQ(dtype_of(graph, "twice"), DType::kBFloat16);
  EXPECT_EQ(dtype_of(graph, "mixed"), DType::kFloat32);
  EXPECT_EQ(dtype_of(graph, "exp"), DType::kFloat32);
  EXPECT_EQ(dtype_of(graph, "softmax"), DType::kFloat32);
  EXPECT_EQ(dtype_of(graph, "sum"), DType::kFloat32);
  EXPECT_EQ(dtype_of(graph, "max"), DType::kBFloat16);
  EXPECT_EQ(dtype_of(graph, "place"), DType::kInt64);
  EXPECT_EQ(dtype_of(graph, "narrow"), DType::kBFloat16);
  EXPECT_EQ(dtype_of(graph, "wide"), DType::kFloat32);
}

TEST(Autocast, CastsNothingOutsideForward) {
  Model model;
  model.build.current.phase = Phase::kOptimizer;
  model.build.output("y", matmul(model.build, model.x, model.w));
  const Graph graph = model.cast_to_bfloat16();
  EXPECT_EQ(count(graph, kCast), 0);
  EXPECT_EQ(dtype_of(graph, "y"), DType::kFloat32);
}

TEST(Autocast, CastsToFloat16) {
  Model model;
  model.build.output("y", matmul(model.build, model.x, model.w));
  const Graph graph = autocast(model.build.finish(), DType::kFloat16);
  EXPECT_EQ(dtype_of(graph, "y"), DType::kFloat16);
}

}  // namespace
}  // namespace laptime
