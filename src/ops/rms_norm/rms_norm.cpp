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

std::vector<TensorType> infer_backward(const Attributes&, std::span<const TensorType> in) {
  return {contiguous_type(in[1].dtype, in[1].shape()), contiguous_type(in[3].dtype, in[3].shape())};
}

void reference(const OpCall& call) {
  const TensorView& x = call.in[0];
  const TensorView& weight = call.in[1];
  const int64_t columns = weight.numel();
  for (int64_t row = 0; row < x.numel() / columns; ++row) {
    double squares = 0;
    for (int64_t i = 0; i < columns; ++i) squares += x.at(row * columns + i) * x.at(row * columns + i);
    const double rstd =
        1 / std::sqrt(squares / static_cast<double>(columns) + call.attributes.as<RmsNormAttributes>().eps);
    for (int64_t i = 0; i < columns; ++i) {
      call.out[0].put(row * columns + i, weight.at(i) * (x.at(row * columns + i) * rstd));
    }
    if (call.out[1].data != nullptr) call.out[1].put(row, rstd);
  }
}

// grad x = rstd (g - xhat mean(g xhat)) with g = grad_y weight and xhat = x rstd
void reference_backward(const OpCall& call) {
  const TensorView& grad = call.in[0];
  const TensorView& x = call.in[1];
  const TensorView& weight = call.in[3];
  const bool addend = call.attributes.as<RmsNormBackwardAttributes>().addend;
  const int64_t columns = x.shape().back();
  std::vector<double> grad_weight(static_cast<size_t>(columns), 0.0);
  for (int64_t row = 0; row < x.numel() / columns; ++row) {
    const double rstd = call.in[2].at(row);
    double product = 0;
    for (int64_t i = 0; i < columns; ++i) {
      const double normalised = x.at(row * columns + i) * rstd;
      product += grad.at(row * columns + i) * weight.at(i) * normalised;
      grad_weight[static_cast<size_t>(i)] += grad.at(row * columns + i) * normalised;
    }
    product /= static_cast<double>(columns);
    for (int64_t i = 0; i < columns; ++i) {
      const int64_t at = row * columns + i;
      const double grad_x = rstd * (grad.at(at) * weight.at(i) - x.at(at) * rstd * product);
      call.out[0].put(at, addend ? grad_x + call.in[4].at(at) : grad_x);
    }
  }
  for (int64_t i = 0; i < columns; ++i) call.out[1].put(i, grad_weight[static_cast<size_t>(i)]);
}

void gradient(GradientContext& c) {
  const ValueId inputs[] = {c.grad_out[0], c.in[0], c.out[1], c.in[1]};
  c.grad_in = c.build.emit(kRmsNormBackward, RmsNormBackwardAttributes{}, inputs);
}

std::vector<ValueId> decompose(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const auto& a = attributes.as<RmsNormAttributes>();
  const DType narrow = build.dtype(in[0]);
  const ValueId x = cast(build, in[0], wide_type(narrow));
  const ValueId mean_square = mean(build, pow(build, x, 2), {build.shape(x).rank() - 1});
  const ValueId rstd = rsqrt(build, add_scalar(build, mean_square, a.eps));
  return {cast(build, mul(build, in[1], mul(build, x, rstd)), a.y_dtype.value_or(narrow)), {}};
}

std::optional<Attributes> fold_output_cast(const Attributes& attributes, int output, DType to) {
  auto a = attributes.as<RmsNormAttributes>();
  if (output != 0 || !only_rounds(a.y_dtype, to)) return std::nullopt;
  a.y_dtype = to;
  return a;
}

// Only the gradient of y: the other inputs decide the outputs' types. All is computed in float32 anyway.
std::optional<Attributes> fold_input_cast(const Attributes& attributes, int input, DType to) {
  if (input != 0 || to != DType::kFloat32) return std::nullopt;
  return attributes;
}

std::optional<Attributes> fold_addend(const Attributes& attributes) {
  if (attributes.as<RmsNormBackwardAttributes>().addend) return std::nullopt;
  return RmsNormBackwardAttributes{.addend = true};
}

}  // namespace

const OpCard kRmsNorm = {.name = "rms_norm",
                         .kind = OpKind::kReduction,
                         .infer = infer,
                         .gradient = gradient,
                         .flops = [](const Signature& s) { return 4.0 * static_cast<double>(s.in[0].numel()); },
                         .reference = reference,
                         .decompose = decompose,
                         .fold_output_cast = fold_output_cast,
                         .optional_outputs = {1}};
const OpCard kRmsNormBackward = {.name = "rms_norm_backward",
                                 .kind = OpKind::kReduction,
                                 .infer = infer_backward,
                                 .flops =
                                     [](const Signature& s) {
                                       const bool addend = s.attributes.as<RmsNormBackwardAttributes>().addend;
                                       return (addend ? 10.0 : 9.0) * static_cast<double>(s.in[1].numel());
                                     },
                                 .reference = reference_backward,
                                 .fold_input_cast = fold_input_cast,
                                 .fold_addend = fold_addend,
                                 .may_overwrite = {{0, 0}, {0, 1}, {0, 4}}};

std::span<const OpCard* const> rms_norm_cards() {
  static constexpr const OpCard* kCards[] = {&kRmsNorm, &kRmsNormBackward};
  return kCards;
}

ValueId rms_norm(Builder& build, ValueId x, ValueId weight, double eps) {
  return build.emit_one(kRmsNorm, RmsNormAttributes{eps}, {x, weight});
}

}  // namespace laptime
