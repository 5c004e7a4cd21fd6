// Cards of the cross entropy of a linear layer: the mean over rows of log(sum(exp(logits))) - logits[target], with
// logits = x W^T + bias.
#include "ops/linear_cross_entropy/linear_cross_entropy.h"

#include <cmath>

#include "graph/structural_ops.h"
#include "ops/accumulation_type.h"
#include "tensor/elements.h"

namespace laptime {
namespace {

using In = LinearCrossEntropyBackwardInputs;

void check_operands(const TensorType& x, const TensorType& weight, const TensorType& targets, const TensorType* bias) {
  const int64_t inner = x.shape().back();
  LAPTIME_CHECK(x.shape().rank() >= 2 && weight.shape().rank() == 2 && inner == weight.shape()[1], "{} by {}", x.text(),
                weight.text());
  LAPTIME_CHECK(targets.numel() * inner == x.numel(), "{} targets of {}", targets.text(), x.text());
  if (bias != nullptr) LAPTIME_CHECK(bias->shape() == Shape{weight.shape()[0]}, "bias {}", bias->text());
}

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> in) {
  check_operands(in[0], in[1], in[2], in.size() > 3 ? &in[3] : nullptr);
  const DType statistics = accumulation_type(in[0].dtype);
  const DType logits =
      attributes.as<LinearCrossEntropyAttributes>().compute.value_or(promote(in[0].dtype, in[1].dtype));
  Shape shape = in[0].shape();
  shape[-1] = in[1].shape()[0];
  return {contiguous_type(statistics, {}), contiguous_type(DType::kFloat64, in[2].shape()),
          contiguous_type(logits, shape)};
}

std::vector<TensorType> infer_backward(const Attributes& attributes, std::span<const TensorType> in) {
  const auto& a = attributes.as<LinearCrossEntropyBackwardAttributes>();
  const bool bias = in.size() > In::kBias;
  check_operands(in[In::kX], in[In::kWeight], in[In::kTargets], bias ? &in[In::kBias] : nullptr);
  const auto like = [&](int input, std::optional<DType> dtype) {
    const TensorType& type = in[static_cast<size_t>(input)];
    return contiguous_type(dtype.value_or(type.dtype), type.shape());
  };
  std::vector<TensorType> out{like(In::kX, a.grad_x), like(In::kWeight, a.grad_weight)};
  if (bias) out.push_back(like(In::kBias, a.grad_bias));
  return out;
}

// The operands of a reference call, rounded to the type of the products.
class Problem {
 public:
  Problem(std::optional<DType> compute, const TensorView& x, const TensorView& weight, const TensorView* bias)
      : columns(weight.shape()[0]),
        depth(weight.shape()[1]),
        rows(x.numel() / depth),
        product_{compute.value_or(promote(x.type.dtype, weight.type.dtype)), {}, false},
        x_(rounded_elements(x)),
        weight_(rounded_elements(weight)),
        bias_(bias == nullptr ? std::vector<double>(static_cast<size_t>(columns), 0.0) : rounded_elements(*bias)) {}

  const int64_t columns, depth, rows;

  double rounded(double factor) const { return product_.operand(factor); }
  const double* x(int64_t row) const { return x_.data() + row * depth; }
  const double* weight(int64_t column) const { return weight_.data() + column * depth; }
  std::vector<double> logits(int64_t row) const {
    std::vector<double> logits = bias_;
    for (int64_t column = 0; column < columns; ++column) {
      for (int64_t k = 0; k < depth; ++k) logits[static_cast<size_t>(column)] += x(row)[k] * weight(column)[k];
    }
    return logits;
  }

 private:
  std::vector<double> rounded_elements(const TensorView& view) const {
    std::vector<double> elements = elements_of(view);
    for (double& element : elements) element = rounded(element);
    return elements;
  }

  ProductAttributes product_;
  std::vector<double> x_, weight_, bias_;
};

void reference(const OpCall& call) {
  const Problem problem(call.attributes.as<LinearCrossEntropyAttributes>().compute, call.in[0], call.in[1],
                        call.in.size() > 3 ? &call.in[3] : nullptr);
  double loss = 0;
  for (int64_t row = 0; row < problem.rows; ++row) {
    const std::vector<double> logits = problem.logits(row);
    const double log_sum_exp = log_sum_exp_of(logits);
    loss += log_sum_exp - logits[static_cast<size_t>(call.in[2].at(row))];
    if (call.out[1].data != nullptr) call.out[1].put(row, log_sum_exp);
    for (int64_t column = 0; column < (call.out[2].data == nullptr ? 0 : problem.columns); ++column)
      call.out[2].put(row * problem.columns + column, logits[static_cast<size_t>(column)]);
  }
  call.out[0].put(0, loss / static_cast<double>(problem.rows));
}

void put_all(const std::vector<double>& values, const TensorView& to) {
  for (size_t i = 0; i < (to.data == nullptr ? 0 : values.size()); ++i) to.put(static_cast<int64_t>(i), values[i]);
}

// Computes, with g = (softmax(logits) - onehot(targets)) grad_loss / rows: grad_x = g W, grad_weight = g^T x, and
// grad_bias, the sum of the rows of g.
void reference_backward(const OpCall& call) {
  const bool bias = call.in.size() > In::kBias;
  const Problem problem(call.attributes.as<LinearCrossEntropyBackwardAttributes>().compute, call.in[In::kX],
                        call.in[In::kWeight], bias ? &call.in[In::kBias] : nullptr);
  const double scale = call.in[In::kGradLoss].at(0) / static_cast<double>(problem.rows);
  std::vector<double> grad_x(static_cast<size_t>(problem.rows * problem.depth), 0.0);
  std::vector<double> grad_weight(static_cast<size_t>(problem.columns * problem.depth), 0.0);
  std::vector<double> grad_bias(static_cast<size_t>(problem.columns), 0.0);
  for (int64_t row = 0; row < problem.rows; ++row) {
    const std::vector<double> logits = problem.logits(row);
    const auto target = static_cast<int64_t>(call.in[In::kTargets].at(row));
    for (int64_t column = 0; column < problem.columns; ++column) {
      const double probability = std::exp(logits[static_cast<size_t>(column)] - call.in[In::kLogSumExp].at(row));
      const double grad = (probability - (column == target ? 1 : 0)) * scale;
      const double factor = problem.rounded(grad);
      grad_bias[static_cast<size_t>(column)] += grad;
      double* const to_x = grad_x.data() + row * problem.depth;
      double* const to_weight = grad_weight.data() + column * problem.depth;
      for (int64_t k = 0; k < problem.depth; ++k) {
        to_x[k] += factor * problem.weight(column)[k];
        to_weight[k] += factor * problem.x(row)[k];
      }
    }
  }
  put_all(grad_x, call.out[0]);
  put_all(grad_weight, call.out[1]);
  if (bias) put_all(grad_bias, call.out[2]);
}

void gradient(GradientContext& c) {
  LAPTIME_CHECK(!c.grad_out[1].valid() && !c.grad_out[2].valid(), "gradients flow through the loss alone");
  std::vector<ValueId> inputs{c.grad_out[0], c.in[0], c.in[1], c.in[2], c.out[1]};
  if (c.in.size() > 3) inputs.push_back(c.in[3]);
  const LinearCrossEntropyBackwardAttributes attributes{
      c.attributes.as<LinearCrossEntropyAttributes>().compute, {}, {}, {}};
  const std::vector<ValueId> grads = c.build.emit(kLinearCrossEntropyBackward, attributes, inputs);
  if (c.wanted[0]) c.grad_in[0] = grads[0];
  if (c.wanted[1]) c.grad_in[1] = grads[1];
  if (c.in.size() > 3 && c.wanted[3]) c.grad_in[3] = grads[2];
}

std::vector<ValueId> decompose(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const auto& a = attributes.as<LinearCrossEntropyAttributes>();
  const auto operand = [&](size_t input) {
    if (input >= in.size()) return ValueId{};
    return a.compute ? cast(build, in[input], *a.compute) : in[input];
  };
  ValueId logits;
  {
    const auto part = build.part(0);
    logits = linear(build, operand(0), operand(1), operand(3), a.linear);
  }
  const auto part = build.part(1);
  return {cross_entropy(build, logits, in[2], a.loss), {}, logits};
}

// A folded cast of one factor applies to all factors.
std::optional<Attributes> fold_input_cast(const Attributes& attributes, int input, DType to) {
  auto a = attributes.as<LinearCrossEntropyAttributes>();
  const auto product = ProductAttributes{a.compute, {}, false}.with_operand_cast(to);
  if (input == 2 || !product) return std::nullopt;
  a.compute = product->compute;
  return a;
}

// Returns the type attribute of gradient `output`.
std::optional<DType>* grad_type(LinearCrossEntropyBackwardAttributes& attributes, int output) {
  switch (output) {
    case 0: return &attributes.grad_x;
    case 1: return &attributes.grad_weight;
    default: return &attributes.grad_bias;
  }
}

// If the cast of an operand is removed, the gradients still keep their types.
std::optional<Attributes> fold_input_cast_backward(const Attributes& attributes, int input, DType to) {
  auto a = attributes.as<LinearCrossEntropyBackwardAttributes>();
  const auto product = ProductAttributes{a.compute, {}, false}.with_operand_cast(to);
  if (!product || (input != In::kX && input != In::kWeight && input != In::kBias)) return std::nullopt;
  a.compute = product->compute;
  std::optional<DType>& grad = *grad_type(a, input == In::kBias ? 2 : input - In::kX);
  grad = grad.value_or(to);
  return a;
}
std::optional<Attributes> fold_output_cast_backward(const Attributes& attributes, int output, DType to) {
  auto a = attributes.as<LinearCrossEntropyBackwardAttributes>();
  std::optional<DType>& grad = *grad_type(a, output);
  const auto product = ProductAttributes{{}, grad, false}.with_result_cast(to);
  if (!product) return std::nullopt;
  grad = product->output;
  return a;
}

// The number of logits.
double logits_count(const TensorType& x, const TensorType& weight) {
  return static_cast<double>(x.numel()) / static_cast<double>(x.shape().back()) *
         static_cast<double>(weight.shape()[0]);
}

}  // namespace

// The model FLOPs are those of linear and cross_entropy; recomputing the logits in backward is not counted.
const OpCard kLinearCrossEntropy = {
    .name = "linear_cross_entropy",
    .kind = OpKind::kContraction,
    .infer = infer,
    .gradient = gradient,
    .flops =
        [](const Signature& s) {
          return logits_count(s.in[0], s.in[1]) * (2 * static_cast<double>(s.in[1].shape()[1]) + 5);
        },
    .product_flops =
        [](const Signature& s) { return logits_count(s.in[0], s.in[1]) * 2 * static_cast<double>(s.in[1].shape()[1]); },
    .autocast = Autocast::kLower,
    .reference = reference,
    .decompose = decompose,
    .fold_input_cast = fold_input_cast,
    .trades_time_for_memory = true,
    .optional_outputs = {1, 2}};
const OpCard kLinearCrossEntropyBackward = {.name = "linear_cross_entropy_backward",
                                            .kind = OpKind::kContraction,
                                            .infer = infer_backward,
                                            .flops =
                                                [](const Signature& s) {
                                                  return logits_count(s.in[In::kX], s.in[In::kWeight]) *
                                                         (4 * static_cast<double>(s.in[In::kWeight].shape()[1]) + 3);
                                                },
                                            .reference = reference_backward,
                                            .fold_input_cast = fold_input_cast_backward,
                                            .fold_output_cast = fold_output_cast_backward,
                                            .optional_outputs = {0, 1, 2}};

std::span<const OpCard* const> linear_cross_entropy_cards() {
  static constexpr const OpCard* kCards[] = {&kLinearCrossEntropy, &kLinearCrossEntropyBackward};
  return kCards;
}

LinearCrossEntropy linear_cross_entropy(Builder& build, ValueId x, ValueId weight, ValueId bias, ValueId targets,
                                        const LinearCrossEntropyAttributes& attributes) {
  LAPTIME_CHECK(!bias.valid() || attributes.linear == LinearForm::kLinear, "einsum takes no bias");
  std::vector<ValueId> inputs{x, weight, targets};
  if (bias.valid()) inputs.push_back(bias);
  const std::vector<ValueId> out = build.emit(kLinearCrossEntropy, attributes, inputs);
  return {out[0], out[2]};
}

}  // namespace laptime
