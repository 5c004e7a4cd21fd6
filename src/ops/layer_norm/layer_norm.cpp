// Layer normalisation over the last axis: y = (x - mean) * rstd * weight + bias   (Ba et al. 2016)
#include "ops/layer_norm/layer_norm.h"

#include <cmath>

#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"

namespace laptime {
namespace {

DType statistics_type(DType x) { return x == DType::kFloat64 ? x : DType::kFloat32; }

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> in) {
  Shape rows = in[0].shape();
  rows[-1] = 1;
  const TensorType statistics = contiguous_type(statistics_type(in[0].dtype), rows);
  return {contiguous_type(in[0].dtype, in[0].shape()), statistics, statistics};
}

std::vector<TensorType> infer_backward(const Attributes&, std::span<const TensorType> in) {
  const TensorType columns = contiguous_type(in[4].dtype, in[4].shape());
  return {contiguous_type(in[1].dtype, in[1].shape()), columns, columns};
}

void reference(const OpCall& call) {
  const double eps = call.attributes.as<LayerNormAttributes>().eps;
  const TensorView& x = call.in[0];
  const int64_t columns = x.shape().back();
  for (int64_t row = 0; row < x.numel() / columns; ++row) {
    double mean = 0;
    double variance = 0;
    for (int64_t i = 0; i < columns; ++i) mean += x.at(row * columns + i);
    mean /= static_cast<double>(columns);
    for (int64_t i = 0; i < columns; ++i) variance += std::pow(x.at(row * columns + i) - mean, 2);
    const double rstd = 1 / std::sqrt(variance / static_cast<double>(columns) + eps);
    for (int64_t i = 0; i < columns; ++i) {
      call.out[0].put(row * columns + i, (x.at(row * columns + i) - mean) * rstd * call.in[1].at(i) + call.in[2].at(i));
    }
    if (call.out[1].data != nullptr) call.out[1].put(row, mean);
    if (call.out[2].data != nullptr) call.out[2].put(row, rstd);
  }
}

// grad x = rstd (g - mean(g) - xhat mean(g xhat)) with g = grad * weight and xhat = (x - mean) rstd
void reference_backward(const OpCall& call) {
  const TensorView& grad = call.in[0];
  const TensorView& x = call.in[1];
  const TensorView& mean = call.in[2];
  const TensorView& rstd = call.in[3];
  const TensorView& weight = call.in[4];
  const bool addend = call.attributes.as<LayerNormBackwardAttributes>().addend;
  const int64_t columns = x.shape().back();
  std::vector<double> grad_weight(static_cast<size_t>(columns), 0.0);
  std::vector<double> grad_bias(static_cast<size_t>(columns), 0.0);
  for (int64_t row = 0; row < x.numel() / columns; ++row) {
    const auto normalised = [&](int64_t i) { return (x.at(row * columns + i) - mean.at(row)) * rstd.at(row); };
    double sum = 0;
    double product = 0;
    for (int64_t i = 0; i < columns; ++i) {
      const double g = grad.at(row * columns + i);
      sum += g * weight.at(i);
      product += g * weight.at(i) * normalised(i);
      grad_weight[static_cast<size_t>(i)] += g * normalised(i);
      grad_bias[static_cast<size_t>(i)] += g;
    }
    const auto count = static_cast<double>(columns);
    for (int64_t i = 0; i < columns; ++i) {
      const int64_t at = row * columns + i;
      const double grad_x = rstd.at(row) * (grad.at(at) * weight.at(i) - sum / count - normalised(i) * product / count);
      call.out[0].put(at, addend ? grad_x + call.in[5].at(at) : grad_x);
    }
  }
  for (int64_t i = 0; i < columns; ++i) {
    call.out[1].put(i, grad_weight[static_cast<size_t>(i)]);
    call.out[2].put(i, grad_bias[static_cast<size_t>(i)]);
  }
}

void gradient(GradientContext& c) {
  const ValueId inputs[] = {c.grad_out[0], c.in[0], c.out[1], c.out[2], c.in[1]};
  c.grad_in = c.build.emit(kLayerNormBackward, LayerNormBackwardAttributes{}, inputs);
}

std::vector<ValueId> decompose(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const Dims last{build.shape(in[0]).rank() - 1};
  const ValueId centred = sub(build, in[0], mean(build, in[0], last));
  const ValueId variance = mean(build, square(build, centred), last);
  const ValueId rstd = rsqrt(build, add_scalar(build, variance, attributes.as<LayerNormAttributes>().eps));
  return {add(build, mul(build, mul(build, centred, rstd), in[1]), in[2]), {}, {}};
}

std::optional<Attributes> fold_addend(const Attributes& attributes) {
  if (attributes.as<LayerNormBackwardAttributes>().addend) return std::nullopt;
  return LayerNormBackwardAttributes{.addend = true};
}

}  // namespace

const OpCard kLayerNorm = {.name = "layer_norm",
                           .kind = OpKind::kReduction,
                           .infer = infer,
                           .gradient = gradient,
                           .flops = [](const Signature& s) { return 8.0 * static_cast<double>(s.in[0].numel()); },
                           .autocast = Autocast::kFloat32,
                           .reference = reference,
                           .decompose = decompose,
                           .optional_outputs = {1, 2}};
const OpCard kLayerNormBackward = {.name = "layer_norm_backward",
                                   .kind = OpKind::kReduction,
                                   .infer = infer_backward,
                                   .flops =
                                       [](const Signature& s) {
                                         const bool addend = s.attributes.as<LayerNormBackwardAttributes>().addend;
                                         return (addend ? 15.0 : 14.0) * static_cast<double>(s.in[0].numel());
                                       },
                                   .reference = reference_backward,
                                   .fold_addend = fold_addend,
                                   .may_overwrite = {{0, 0}, {0, 1}, {0, 5}}};

std::span<const OpCard* const> layer_norm_cards() {
  static constexpr const OpCard* kCards[] = {&kLayerNorm, &kLayerNormBackward};
  return kCards;
}

ValueId layer_norm(Builder& build, ValueId x, ValueId weight, ValueId bias, double eps) {
  return build.emit_one(kLayerNorm, LayerNormAttributes{eps}, {x, weight, bias});
}

}  // namespace laptime
