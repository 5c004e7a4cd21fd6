// Cards of layer norm and RMSNorm. The template argument Norm is the attributes type of the forward op.
#include "ops/norm/norm.h"

#include <cmath>

#include "graph/structural_ops.h"
#include "ops/accumulation_type.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"

namespace laptime {
namespace {

// Positions of the operands, which differ because RMSNorm has no mean.
template <class Norm>
struct Place {
  static constexpr size_t kRstdOutput = Norm::kCentred ? 2 : 1;
  static constexpr size_t kMean = 2;  // this and the following are inputs of the backward op
  static constexpr size_t kRstd = Norm::kCentred ? 3 : 2;
  static constexpr size_t kWeight = kRstd + 1;
  static constexpr size_t kAddend = kWeight + 1;
};

template <class Norm>
std::vector<TensorType> infer(const TensorType& x, DType y_dtype) {
  Shape rows = x.shape();
  rows[-1] = 1;
  const TensorType statistics = contiguous_type(accumulation_type(x.dtype), rows);
  std::vector<TensorType> out{contiguous_type(y_dtype, x.shape()), statistics};
  if (Norm::kCentred) out.push_back(statistics);
  return out;
}
std::vector<TensorType> infer_layer_norm(const Attributes& attributes, std::span<const TensorType> in) {
  return infer<LayerNormAttributes>(in[0], attributes.as<LayerNormAttributes>().y_dtype.value_or(in[0].dtype));
}
std::vector<TensorType> infer_rms_norm(const Attributes& attributes, std::span<const TensorType> in) {
  const auto& a = attributes.as<RmsNormAttributes>();
  const DType natural = a.weighs_last ? promote(in[0].dtype, in[1].dtype) : in[0].dtype;
  return infer<RmsNormAttributes>(in[0], a.y_dtype.value_or(natural));
}

template <class Norm>
std::vector<TensorType> infer_backward(const Attributes&, std::span<const TensorType> in) {
  const TensorType& weight = in[Place<Norm>::kWeight];
  const TensorType parameter = contiguous_type(weight.dtype, weight.shape());
  std::vector<TensorType> out{contiguous_type(in[1].dtype, in[1].shape()), parameter};
  if (Norm::kCentred) out.push_back(parameter);
  return out;
}

template <class Norm>
void reference(const OpCall& call) {
  const TensorView& x = call.in[0];
  const int64_t columns = x.shape().back();
  const auto count = static_cast<double>(columns);
  for (int64_t row = 0; row < x.numel() / columns; ++row) {
    const int64_t begin = row * columns;
    double mean = 0;
    for (int64_t i = 0; Norm::kCentred && i < columns; ++i) mean += x.at(begin + i) / count;
    double squares = 0;
    for (int64_t i = 0; i < columns; ++i) squares += (x.at(begin + i) - mean) * (x.at(begin + i) - mean);
    const double rstd = 1 / std::sqrt(squares / count + call.attributes.as<Norm>().eps);
    for (int64_t i = 0; i < columns; ++i) {
      const double bias = Norm::kCentred ? call.in[2].at(i) : 0;
      call.out[0].put(begin + i, (x.at(begin + i) - mean) * rstd * call.in[1].at(i) + bias);
    }
    if (Norm::kCentred && call.out[1].data != nullptr) call.out[1].put(row, mean);
    const TensorView& rstds = call.out[Place<Norm>::kRstdOutput];
    if (rstds.data != nullptr) rstds.put(row, rstd);
  }
}

// With g = grad_y weight and xhat = (x - mean) rstd:
//   layer norm: grad_x = rstd (g - mean(g) - xhat mean(g xhat)); RMSNorm: grad_x = rstd (g - xhat mean(g xhat)).
template <class Norm>
void reference_backward(const OpCall& call) {
  const TensorView& grad = call.in[0];
  const TensorView& x = call.in[1];
  const TensorView& weight = call.in[Place<Norm>::kWeight];
  const bool addend = call.attributes.as<NormBackwardAttributes>().addend;
  const int64_t columns = x.shape().back();
  const auto count = static_cast<double>(columns);
  std::vector<double> grad_weight(static_cast<size_t>(columns), 0.0);
  std::vector<double> grad_bias(static_cast<size_t>(columns), 0.0);
  for (int64_t row = 0; row < x.numel() / columns; ++row) {
    const int64_t begin = row * columns;
    const double mean = Norm::kCentred ? call.in[Place<Norm>::kMean].at(row) : 0;
    const double rstd = call.in[Place<Norm>::kRstd].at(row);
    const auto xhat = [&](int64_t i) { return (x.at(begin + i) - mean) * rstd; };
    double sum = 0;
    double product = 0;
    for (int64_t i = 0; i < columns; ++i) {
      const double grad_y = grad.at(begin + i);
      if (Norm::kCentred) sum += grad_y * weight.at(i);
      product += grad_y * weight.at(i) * xhat(i);
      grad_weight[static_cast<size_t>(i)] += grad_y * xhat(i);
      grad_bias[static_cast<size_t>(i)] += grad_y;
    }
    for (int64_t i = 0; i < columns; ++i) {
      const double g = grad.at(begin + i) * weight.at(i);
      const double grad_x = rstd * (g - sum / count - xhat(i) * product / count);
      call.out[0].put(begin + i, addend ? grad_x + call.in[Place<Norm>::kAddend].at(begin + i) : grad_x);
    }
  }
  for (int64_t i = 0; i < columns; ++i) {
    call.out[1].put(i, grad_weight[static_cast<size_t>(i)]);
    if (Norm::kCentred) call.out[2].put(i, grad_bias[static_cast<size_t>(i)]);
  }
}

void gradient_layer_norm(GradientContext& c) {
  const ValueId inputs[] = {c.grad_out[0], c.in[0], c.out[1], c.out[2], c.in[1]};
  c.grad_in = c.build.emit(kLayerNormBackward, NormBackwardAttributes{}, inputs);
}
void gradient_rms_norm(GradientContext& c) {
  const ValueId inputs[] = {c.grad_out[0], c.in[0], c.out[1], c.in[1]};
  c.grad_in = c.build.emit(kRmsNormBackward, NormBackwardAttributes{}, inputs);
}

std::vector<ValueId> decompose_layer_norm(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const auto& a = attributes.as<LayerNormAttributes>();
  const Dims last{build.shape(in[0]).rank() - 1};
  const ValueId centred = sub(build, in[0], mean(build, in[0], last));
  const ValueId variance = mean(build, square(build, centred), last);
  const ValueId rstd = rsqrt(build, add_scalar(build, variance, a.eps));
  const ValueId y = add(build, mul(build, mul(build, centred, rstd), in[1]), in[2]);
  return {cast(build, y, a.y_dtype.value_or(build.dtype(y))), {}, {}};
}

// Computes in float32 or wider. The course's modules cast back last, transformers before multiplying by the weight.
std::vector<ValueId> decompose_rms_norm(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const auto& a = attributes.as<RmsNormAttributes>();
  const DType narrow = build.dtype(in[0]);
  const ValueId x = cast(build, in[0], accumulation_type(narrow));
  const ValueId mean_square = mean(build, pow(build, x, 2), {build.shape(x).rank() - 1});
  const ValueId rstd = rsqrt(build, add_scalar(build, mean_square, a.eps));
  const ValueId normalised = mul(build, x, rstd);
  if (a.weighs_last) {  // as in the transformers library
    const ValueId y = mul(build, in[1], cast(build, normalised, narrow));
    return {cast(build, y, a.y_dtype.value_or(build.dtype(y))), {}};
  }
  return {cast(build, mul(build, in[1], normalised), a.y_dtype.value_or(narrow)), {}};
}

template <class Norm>
std::optional<Attributes> fold_output_cast(const Attributes& attributes, int output, DType to) {
  auto a = attributes.as<Norm>();
  if (output != 0 || !only_rounds(a.y_dtype, to)) return std::nullopt;
  a.y_dtype = to;
  return a;
}

// Folds only a cast of grad_y, because the other inputs determine the types of the outputs. The kernels compute in
// float32 anyway.
std::optional<Attributes> fold_backward_input_cast(const Attributes& attributes, int input, DType to) {
  if (input != 0 || to != DType::kFloat32) return std::nullopt;
  return attributes;
}

std::optional<Attributes> fold_addend(const Attributes& attributes) {
  if (attributes.as<NormBackwardAttributes>().addend) return std::nullopt;
  return NormBackwardAttributes{.addend = true};
}

template <int per_element>
double flops(const Signature& s) {
  return static_cast<double>(per_element) * static_cast<double>(s.in[0].numel());
}
template <int per_element>
double flops_backward(const Signature& s) {
  const int addition = s.attributes.as<NormBackwardAttributes>().addend ? 1 : 0;
  return static_cast<double>(per_element + addition) * static_cast<double>(s.in[1].numel());
}

}  // namespace

const OpCard kLayerNorm = {.name = "layer_norm",
                           .kind = OpKind::kReduction,
                           .infer = infer_layer_norm,
                           .gradient = gradient_layer_norm,
                           .flops = flops<8>,
                           .autocast = Autocast::kFloat32,
                           .reference = reference<LayerNormAttributes>,
                           .decompose = decompose_layer_norm,
                           .fold_output_cast = fold_output_cast<LayerNormAttributes>,
                           .optional_outputs = {1, 2}};
const OpCard kLayerNormBackward = {.name = "layer_norm_backward",
                                   .kind = OpKind::kReduction,
                                   .infer = infer_backward<LayerNormAttributes>,
                                   .flops = flops_backward<14>,
                                   .reference = reference_backward<LayerNormAttributes>,
                                   .fold_input_cast = fold_backward_input_cast,
                                   .fold_addend = fold_addend,
                                   .may_overwrite = {{0, 0}, {0, 1}, {0, 5}}};
const OpCard kRmsNorm = {.name = "rms_norm",
                         .kind = OpKind::kReduction,
                         .infer = infer_rms_norm,
                         .gradient = gradient_rms_norm,
                         .flops = flops<4>,
                         .reference = reference<RmsNormAttributes>,
                         .decompose = decompose_rms_norm,
                         .casts_by_input = true,
                         .fold_output_cast = fold_output_cast<RmsNormAttributes>,
                         .optional_outputs = {1}};
const OpCard kRmsNormBackward = {.name = "rms_norm_backward",
                                 .kind = OpKind::kReduction,
                                 .infer = infer_backward<RmsNormAttributes>,
                                 .flops = flops_backward<9>,
                                 .reference = reference_backward<RmsNormAttributes>,
                                 .fold_input_cast = fold_backward_input_cast,
                                 .fold_addend = fold_addend,
                                 .may_overwrite = {{0, 0}, {0, 1}, {0, 4}}};

std::span<const OpCard* const> norm_cards() {
  static constexpr const OpCard* kCards[] = {&kLayerNorm, &kLayerNormBackward, &kRmsNorm, &kRmsNormBackward};
  return kCards;
}

ValueId layer_norm(Builder& build, ValueId x, ValueId weight, ValueId bias, double eps) {
  return build.emit_one(kLayerNorm, LayerNormAttributes{eps}, {x, weight, bias});
}

ValueId rms_norm(Builder& build, ValueId x, ValueId weight, double eps, bool weighs_last) {
  return build.emit_one(kRmsNorm, RmsNormAttributes{.eps = eps, .weighs_last = weighs_last}, {x, weight});
}

}  // namespace laptime
