// Compares the gradient that an OpCard builds with central differences.
#include "support/gradient_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/fields.h"
#include "graph/builder.h"
#include "support/evaluate.h"
#include "tensor/elements.h"

namespace laptime::test {
namespace {

constexpr double kAccepted = 1e-6;  // relative to the largest element of the gradient
constexpr double kStep = 1e-5;      // step of the central differences, relative to max(1, |x|)

// The forward graph of an op and the values of its sources.
struct Forward {
  Builder build;
  std::vector<ValueId> in, out;
  std::vector<std::vector<double>> values;
};

std::vector<double> random_values(const Operand& operand, DType dtype, uint64_t seed) {
  GuardedTensor tensor(contiguous_type(dtype, operand.shape));
  tensor.fill(operand, seed);
  return elements_of(tensor.view());
}

Forward forward_of(const GradientCase& test) {
  Forward forward;
  for (size_t k = 0; k < test.inputs.size(); ++k) {
    const Operand& operand = test.inputs[k];
    const DType dtype = operand.dtype.value_or(DType::kFloat64);
    forward.in.push_back(
        forward.build.source(fmt::format("input {}", k), contiguous_type(dtype, operand.shape), Role::kActivation));
    forward.values.push_back(random_values(operand, dtype, 100 + k));
  }
  forward.out = forward.build.emit(*test.op, test.attributes, forward.in);
  return forward;
}

// Random weights by which the loss multiplies the elements of an output.
std::vector<double> weights_of(const Graph& graph, ValueId output) {
  return random_values({.shape = graph.value(output).type.shape()}, DType::kFloat64,
                       7 + static_cast<uint64_t>(output.index));
}

double loss(const GradientCase& test, const Forward& forward, const std::vector<std::vector<double>>& inputs) {
  const Graph& graph = forward.build.graph();
  Evaluation evaluation(graph);
  for (size_t k = 0; k < inputs.size(); ++k) evaluation.set(forward.in[k], inputs[k]);
  evaluation.run();
  double loss = 0;
  for (const int output : test.outputs) {
    const ValueId id = forward.out[static_cast<size_t>(output)];
    const std::vector<double> values = evaluation.values(id);
    const std::vector<double> weights = weights_of(graph, id);
    for (size_t i = 0; i < values.size(); ++i) loss += values[i] * weights[i];
  }
  return loss;
}

// Sums a gradient over the axes along which the input was broadcast, as differentiation does.
std::vector<double> summed_to(const Shape& shape, const Shape& from, const std::vector<double>& values) {
  std::vector<double> sums(static_cast<size_t>(shape.product()), 0.0);
  const TensorView target{nullptr, {DType::kFloat64, expanded(Layout::contiguous(shape), from)}};
  for (size_t i = 0; i < values.size(); ++i)
    sums[static_cast<size_t>(target.position(static_cast<int64_t>(i)))] += values[i];
  return sums;
}

// The gradient that the op card builds for each input; empty for an input without a gradient.
std::vector<std::vector<double>> built_gradients(const GradientCase& test) {
  Forward forward = forward_of(test);
  Builder& build = forward.build;
  std::vector<ValueId> grad_out(forward.out.size());
  for (const int output : test.outputs) {
    const auto k = static_cast<size_t>(output);
    grad_out[k] = build.source(fmt::format("grad {}", output),
                               contiguous_type(DType::kFloat64, build.shape(forward.out[k])), Role::kActivation);
  }
  GradientContext context{build, test.attributes, forward.in, forward.out, grad_out, {}, {}};
  for (const ValueId id : forward.in) context.wanted.push_back(build.dtype(id) == DType::kFloat64);
  context.grad_in.resize(forward.in.size());
  test.op->gradient(context);

  Evaluation evaluation(build.graph());
  for (size_t k = 0; k < forward.in.size(); ++k) evaluation.set(forward.in[k], forward.values[k]);
  for (const int output : test.outputs) {
    const auto k = static_cast<size_t>(output);
    evaluation.set(grad_out[k], weights_of(build.graph(), forward.out[k]));
  }
  evaluation.run();
  std::vector<std::vector<double>> gradients;
  for (size_t k = 0; k < forward.in.size(); ++k) {
    gradients.emplace_back();
    const ValueId id = context.grad_in[k];
    if (!context.wanted[k] || !id.valid()) continue;
    gradients.back() = summed_to(build.shape(forward.in[k]), build.shape(id), evaluation.values(id));
  }
  return gradients;
}

}  // namespace

void expect_gradient(const GradientCase& test) {
  ASSERT_NE(test.op->gradient, nullptr) << test.op->name;
  const std::vector<std::vector<double>> built = built_gradients(test);
  const Forward forward = forward_of(test);
  for (size_t k = 0; k < forward.in.size(); ++k) {
    if (test.inputs[k].dtype.value_or(DType::kFloat64) != DType::kFloat64) continue;
    ASSERT_FALSE(built[k].empty()) << test.op->name << ": no gradient of input " << k;
    std::vector<double> measured;
    for (size_t i = 0; i < forward.values[k].size(); ++i) {
      std::vector<std::vector<double>> inputs = forward.values;
      const double x = inputs[k][i];
      const double step = kStep * std::max(1.0, std::abs(x));
      inputs[k][i] = x + step;
      const double above = loss(test, forward, inputs);
      inputs[k][i] = x - step;
      measured.push_back((above - loss(test, forward, inputs)) / (2 * step));
    }
    // At least 1e-3: if an input does not influence the output, its gradient consists only of rounding errors.
    double max_element = 1e-3;
    for (const double value : measured) max_element = std::max(max_element, std::abs(value));
    for (size_t i = 0; i < measured.size(); ++i) {
      EXPECT_NEAR(built[k][i], measured[i], kAccepted * max_element)
          << test.op->name << ' ' << test.attributes.text() << ": gradient of input " << k << ", element " << i;
    }
  }
}

}  // namespace laptime::test
