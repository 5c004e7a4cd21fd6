// differentiate: gradients of small graphs compared with central differences, and the annotations of backward nodes.
#include "passes/differentiate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "graph/structural_ops.h"
#include "ops/matmul/matmul.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"
#include "passes/decompose.h"
#include "support/evaluate.h"

namespace laptime::test {
namespace {

TensorType doubles(const Shape& shape) { return contiguous_type(DType::kFloat64, shape); }

using Parameters = std::vector<ValueId>;
// A scalar loss computed from the parameters a (2, 3) and b (3).
using MakeLoss = std::function<ValueId(Builder&, ValueId a, ValueId b)>;

Graph differentiated(const MakeLoss& loss_of) {
  Builder build;
  const ValueId a = build.source("a", doubles({2, 3}), Role::kParameter);
  const ValueId b = build.source("b", doubles({3}), Role::kParameter);
  const ValueId loss = loss_of(build, a, b);
  build.output("loss", loss);
  build.current = {Phase::kBackward, {}, {}, false};
  const Parameters parameters{a, b};
  const std::vector<ValueId> grads = gradients(build, loss, parameters);
  build.output("grad_a", grads[0]);
  build.output("grad_b", grads[1]);
  Graph graph = differentiate(decompose(build.finish(), {}));
  verify(graph, "differentiate");
  return graph;
}

void expect_gradients(const MakeLoss& loss_of) {
  const Graph graph = differentiated(loss_of);
  std::vector<double> a{0.3, -1.2, 0.7, 1.9, -0.4, 0.8};
  std::vector<double> b{1.1, -0.6, 0.5};
  const auto run = [&](const std::string& output) {
    Evaluation evaluation(graph);
    evaluation.set(graph.find_source("a"), a);
    evaluation.set(graph.find_source("b"), b);
    evaluation.run();
    return evaluation.values(graph.find_output(output));
  };
  constexpr double kStep = 1e-5;
  const auto check = [&](std::vector<double>& parameter, const std::string& output) {
    const std::vector<double> grad = run(output);
    ASSERT_EQ(grad.size(), parameter.size());
    for (size_t i = 0; i < parameter.size(); ++i) {
      const double kept = parameter[i];
      parameter[i] = kept + kStep;
      const double up = run("loss")[0];
      parameter[i] = kept - kStep;
      const double down = run("loss")[0];
      parameter[i] = kept;
      EXPECT_NEAR(grad[i], (up - down) / (2 * kStep), 1e-8) << output << "[" << i << "]";
    }
  };
  check(a, "grad_a");
  check(b, "grad_b");
}

TEST(Differentiate, SumsOverBroadcastAxes) {
  expect_gradients([](Builder& build, ValueId a, ValueId b) { return sum_all(build, exp(build, mul(build, a, b))); });
  expect_gradients([](Builder& build, ValueId a, ValueId b) {
    const ValueId column = reshape(build, b, {3, 1, 1});
    return sum_all(build, mul(build, square(build, add(build, column, a)), column));
  });
}

TEST(Differentiate, AddsTheGradientsOfSeveralUses) {
  expect_gradients([](Builder& build, ValueId a, ValueId b) {
    const ValueId x = mul(build, a, b);
    return sum_all(build, add(build, mul(build, x, exp(build, x)), mul(build, x, a)));
  });
}

TEST(Differentiate, DifferentiatesViews) {
  expect_gradients([](Builder& build, ValueId a, ValueId b) {
    const ValueId turned = transpose(build, a, 0, 1);       // (3, 2)
    const ValueId part = slice(build, turned, 0, 0, 2, 2);  // rows 0 and 2
    const ValueId wide = expand(build, reshape(build, b, {3, 1}), {3, 2});
    const ValueId other = slice(build, wide, 0, 1, 2);
    return sum_all(build, mul(build, square(build, part), other));
  });
  expect_gradients([](Builder& build, ValueId a, ValueId b) {
    const ValueId flat = reshape(build, transpose(build, a, 0, 1), {6});  // needs a copy
    return sum_all(build, mul(build, slice(build, flat, 0, 1, 3), b));
  });
}

TEST(Differentiate, DifferentiatesMatrixProductsAndReductions) {
  expect_gradients([](Builder& build, ValueId a, ValueId b) {
    const ValueId product = matmul(build, a, transpose(build, mul(build, a, b), 0, 1));  // (2, 2)
    return mean_all(build, mul(build, product, max_last(build, product)[0]));
  });
}

TEST(Differentiate, UnusedParameterGetsZeroGradient) {
  expect_gradients([](Builder& build, ValueId a, ValueId) { return sum_all(build, square(build, a)); });
  // b is read, but it is not on a path to the loss.
  expect_gradients([](Builder& build, ValueId a, ValueId b) {
    build.output("aside", mul(build, a, b));
    return sum_all(build, square(build, a));
  });
}

TEST(Differentiate, GradientHasParameterTypeAndLayout) {
  Builder build;
  const ValueId w = build.source("w", contiguous_type(DType::kFloat32, {2, 3}), Role::kParameter);
  ValueId loss;
  {
    const auto scope = build.scope("layers.0.ffn");
    loss = sum_all(
        build, cast(build, square(build, transpose(build, cast(build, w, DType::kBFloat16), 0, 1)), DType::kFloat32));
  }
  build.current = {Phase::kBackward, {}, {}, false};
  const std::vector<ValueId> grads = gradients(build, loss, std::vector<ValueId>{w});
  build.output("grad", grads[0]);
  const Graph graph = differentiate(build.finish());
  verify(graph, "differentiate");
  const Value& grad = graph.value(graph.find_output("grad"));
  EXPECT_EQ(grad.type, graph.value(graph.find_source("w")).type);
  EXPECT_EQ(grad.role, Role::kGradient);
  int backward = 0;
  for (const Node& node : graph.nodes) {
    EXPECT_NE(node.op, &kGradients);
    if (node.annotations.phase != Phase::kBackward) continue;
    ++backward;
    EXPECT_EQ(node.annotations.scope, "layers.0.ffn");
    EXPECT_EQ(node.annotations.frame, "");
  }
  EXPECT_GT(backward, 3);
}

TEST(DifferentiateDeath, LossWithoutParametersAborts) {
  Builder build;
  const ValueId w = build.source("w", doubles({2}), Role::kParameter);
  const ValueId x = build.source("x", doubles({2}), Role::kInput);
  const ValueId loss = sum_all(build, exp(build, x));
  gradients(build, loss, std::vector<ValueId>{w});
  const Graph graph = build.finish();
  EXPECT_DEATH(differentiate(graph), "the loss depends on no parameter");
}

}  // namespace
}  // namespace laptime::test
