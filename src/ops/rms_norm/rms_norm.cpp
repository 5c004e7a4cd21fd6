// RMSNorm over the last axis: y = weight * (x * rsqrt(mean(x^2) + eps))   (Zhang and Sennrich 2019)
#include "ops/rms_norm/rms_norm.h"

#include <cmath>

#include "graph/structural_ops.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"

namespace laptime {
namespace {

DType wide_type(DType x) { return x == DType::kFloat64 ? x : DType::kFloat32; }

TensorType rstd_type(const TensorType& x) {
  Shape rows = x.shape();
  rows[-1] = 1;
  return contiguous_type(wide_type(x.dtype), rows);
}

std::vector<TensorType> infer(const Attributes& attributes, std::span<const TensorType> in) {
  const DType y = attributes.as<RmsNormAttributes>().y_dtype.value_or(in[0].dtype);
  return {contiguous_type(y, in[0].shape()), rstd_type(in[0])};
}

std::vector<TensorType> infer_add(const Attributes& attributes, std::span<const TensorType> in) {
  LAPTIME_CHECK(in[0].shape() == in[1].shape(), "{} + {}", in[0].text(), in[1].text());
  const TensorType sum = contiguous_type(promote(in[0].dtype, in[1].dtype), in[0].shape());
  const DType y = attributes.as<RmsNormAttributes>().y_dtype.value_or(sum.dtype);
  return {sum, contiguous_type(y, sum.shape()), rstd_type(sum)};
}

// (grad_y, x, rstd, weight), behind `first` other inputs.
template <size_t first>
std::vector<TensorType> infer_backward(const Attributes&, std::span<const TensorType> in) {
  const TensorType& x = in[first + 1];
  const TensorType& weight = in[first + 3];
  return {contiguous_type(x.dtype, x.shape()), contiguous_type(weight.dtype, weight.shape())};
}

// value(i): element i of the rows that are normalised, by row-major index.
template <class Value>
void reference_rows(const OpCall& call, const Value& value, const TensorView& weight, const TensorView& y,
                    const TensorView& rstd_out) {
  const int64_t columns = weight.numel();
  for (int64_t row = 0; row < y.numel() / columns; ++row) {
    double squares = 0;
    for (int64_t i = 0; i < columns; ++i) squares += value(row * columns + i) * value(row * columns + i);
    const double rstd =
        1 / std::sqrt(squares / static_cast<double>(columns) + call.attributes.as<RmsNormAttributes>().eps);
    for (int64_t i = 0; i < columns; ++i) y.put(row * columns + i, weight.at(i) * (value(row * columns + i) * rstd));
    if (rstd_out.data != nullptr) rstd_out.put(row, rstd);
  }
}

void reference(const OpCall& call) {
  const auto x = [&](int64_t i) { return call.in[0].at(i); };
  reference_rows(call, x, call.in[1], call.out[0], call.out[1]);
}

// The sum is written last: it may stand where x or r does.
void reference_add(const OpCall& call) {
  const auto sum = [&](int64_t i) { return call.in[0].at(i) + call.in[1].at(i); };
  reference_rows(call, sum, call.in[2], call.out[1], call.out[2]);
  if (call.out[0].data == nullptr) return;
  for (int64_t i = 0; i < call.out[0].numel(); ++i) call.out[0].put(i, sum(i));
}

// grad x = rstd (g - xhat mean(g xhat)) + what comes past the norm, with g = grad_y weight and xhat = x rstd
template <size_t first>
void reference_backward(const OpCall& call) {
  const TensorView& grad = call.in[first];
  const TensorView& x = call.in[first + 1];
  const TensorView& weight = call.in[first + 3];
  const int64_t columns = x.shape().back();
  std::vector<double> grad_weight(static_cast<size_t>(columns), 0.0);
  for (int64_t row = 0; row < x.numel() / columns; ++row) {
    const double rstd = call.in[first + 2].at(row);
    double product = 0;
    for (int64_t i = 0; i < columns; ++i) {
      const double normalised = x.at(row * columns + i) * rstd;
      product += grad.at(row * columns + i) * weight.at(i) * normalised;
      grad_weight[static_cast<size_t>(i)] += grad.at(row * columns + i) * normalised;
    }
    product /= static_cast<double>(columns);
    for (int64_t i = 0; i < columns; ++i) {
      const int64_t at = row * columns + i;
      const double past = first == 0 ? 0 : call.in[0].at(at);
      call.out[0].put(at, rstd * (grad.at(at) * weight.at(i) - x.at(at) * rstd * product) + past);
    }
  }
  for (int64_t i = 0; i < columns; ++i) call.out[1].put(i, grad_weight[static_cast<size_t>(i)]);
}

void gradient(GradientContext& c) {
  const ValueId inputs[] = {c.grad_out[0], c.in[0], c.out[1], c.in[1]};
  c.grad_in = c.build.emit(kRmsNormBackward, {}, inputs);
}

void gradient_add(GradientContext& c) {
  const ValueId grad_sum = c.grad_out[0];
  const ValueId grad_y = c.grad_out[1];
  ValueId grad_x = grad_sum;
  ValueId grad_weight;
  if (grad_sum.valid() && grad_y.valid()) {
    const ValueId inputs[] = {grad_sum, grad_y, c.out[0], c.out[2], c.in[2]};
    const std::vector<ValueId> grads = c.build.emit(kAddRmsNormBackward, {}, inputs);
    grad_x = grads[0];
    grad_weight = grads[1];
  } else if (grad_y.valid()) {
    const ValueId inputs[] = {grad_y, c.out[0], c.out[2], c.in[2]};
    const std::vector<ValueId> grads = c.build.emit(kRmsNormBackward, {}, inputs);
    grad_x = grads[0];
    grad_weight = grads[1];
  } else if (c.wanted[2]) {
    grad_weight = fill(c.build, c.build.shape(c.in[2]), 0, c.build.dtype(c.in[2]));
  }
  c.grad_in = {grad_x, grad_x, grad_weight};
}

std::vector<ValueId> decompose(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const auto& a = attributes.as<RmsNormAttributes>();
  const DType narrow = build.dtype(in[0]);
  const ValueId x = cast(build, in[0], wide_type(narrow));
  const ValueId mean_square = mean(build, pow(build, x, 2), {build.shape(x).rank() - 1});
  const ValueId rstd = rsqrt(build, add_scalar(build, mean_square, a.eps));
  return {cast(build, mul(build, in[1], mul(build, x, rstd)), a.y_dtype.value_or(narrow)), {}};
}

std::vector<ValueId> decompose_add(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const ValueId sum = add(build, in[0], in[1]);
  const ValueId inputs[] = {sum, in[2]};
  const std::vector<ValueId> norm = build.emit(kRmsNorm, attributes, inputs);
  return {sum, norm[0], norm[1]};
}

template <int y>
std::optional<Attributes> fold_output_cast(const Attributes& attributes, int output, DType to) {
  auto a = attributes.as<RmsNormAttributes>();
  if (output != y || !only_rounds(a.y_dtype, to)) return std::nullopt;
  a.y_dtype = to;
  return a;
}

// Only the gradient of y: the other inputs decide the outputs' types. All is computed in float32 anyway.
template <int grad_y>
std::optional<Attributes> fold_input_cast(const Attributes& attributes, int input, DType to) {
  if (input != grad_y || to != DType::kFloat32) return std::nullopt;
  return attributes;
}

}  // namespace

const OpCard kRmsNorm = {.name = "rms_norm",
                         .kind = OpKind::kReduction,
                         .infer = infer,
                         .gradient = gradient,
                         .flops = [](const Signature& s) { return 4.0 * static_cast<double>(s.in[0].numel()); },
                         .reference = reference,
                         .decompose = decompose,
                         .fold_output_cast = fold_output_cast<0>,
                         .optional_outputs = {1}};
const OpCard kRmsNormBackward = {.name = "rms_norm_backward",
                                 .kind = OpKind::kReduction,
                                 .infer = infer_backward<0>,
                                 .flops = [](const Signature& s) { return 9.0 * static_cast<double>(s.in[1].numel()); },
                                 .reference = reference_backward<0>,
                                 .fold_input_cast = fold_input_cast<0>,
                                 .may_overwrite = {{0, 0}, {0, 1}}};
const OpCard kAddRmsNorm = {.name = "add_rms_norm",
                            .kind = OpKind::kReduction,
                            .infer = infer_add,
                            .gradient = gradient_add,
                            .flops = [](const Signature& s) { return 5.0 * static_cast<double>(s.in[0].numel()); },
                            .reference = reference_add,
                            .decompose = decompose_add,
                            .fold_output_cast = fold_output_cast<1>,
                            .optional_outputs = {0, 2},
                            .may_overwrite = {{0, 0}, {0, 1}}};
const OpCard kAddRmsNormBackward = {
    .name = "add_rms_norm_backward",
    .kind = OpKind::kReduction,
    .infer = infer_backward<1>,
    .flops = [](const Signature& s) { return 10.0 * static_cast<double>(s.in[2].numel()); },
    .reference = reference_backward<1>,
    .fold_input_cast = fold_input_cast<1>,
    .may_overwrite = {{0, 0}, {0, 1}, {0, 2}}};

std::span<const OpCard* const> rms_norm_cards() {
  static constexpr const OpCard* kCards[] = {&kRmsNorm, &kRmsNormBackward, &kAddRmsNorm, &kAddRmsNormBackward};
  return kCards;
}

ValueId rms_norm(Builder& build, ValueId x, ValueId weight, double eps) {
  return build.emit_one(kRmsNorm, RmsNormAttributes{eps}, {x, weight});
}

AddRmsNorm add_rms_norm(Builder& build, ValueId x, ValueId r, ValueId weight, double eps) {
  const ValueId inputs[] = {x, r, weight};
  const std::vector<ValueId> outputs = build.emit(kAddRmsNorm, RmsNormAttributes{eps}, inputs);
  return {outputs[0], outputs[1]};
}

}  // namespace laptime
