// Cards of GELU.
#include "ops/gelu/gelu.h"

#include <cmath>
#include <numbers>

#include "graph/structural_ops.h"
#include "ops/pointwise/pointwise.h"

namespace laptime {
namespace {

constexpr double kTanhScale = 0.7978845608028654;  // sqrt(2 / pi)
constexpr double kTanhCubic = 0.044715;

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> in) {
  return {{in[0].dtype, pointwise_layout(in[0].shape(), in)}};
}

double value(double x, bool tanh) {
  if (!tanh) return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2));
  return 0.5 * x * (1 + std::tanh(kTanhScale * (x + kTanhCubic * x * x * x)));
}

double slope(double x, bool tanh) {
  if (!tanh) {
    const double density = std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
    return 0.5 * (1 + std::erf(x / std::numbers::sqrt2)) + x * density;
  }
  const double t = std::tanh(kTanhScale * (x + kTanhCubic * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * kTanhScale * (1 + 3 * kTanhCubic * x * x);
}

void reference(const OpCall& call) {
  const bool tanh = call.attributes.as<GeluAttributes>().tanh;
  for (int64_t i = 0; i < call.out[0].numel(); ++i) call.out[0].put(i, value(call.in[0].at(i), tanh));
}

void reference_backward(const OpCall& call) {
  const bool tanh = call.attributes.as<GeluAttributes>().tanh;
  for (int64_t i = 0; i < call.out[0].numel(); ++i)
    call.out[0].put(i, call.in[0].at(i) * slope(call.in[1].at(i), tanh));
}

void gradient(GradientContext& c) {
  c.grad_in[0] = c.build.emit_one(kGeluBackward, c.attributes, {c.grad_out[0], c.in[0]});
}

// Computes 0.5 x (1 + tanh(u)) with 1 + tanh(u) = 2 sigmoid(2 u). Launches as many kernels, and saves as many bytes for
// backward, as the implementation in the transformers library.
std::vector<ValueId> decompose_new(Builder& build, const Attributes&, std::span<const ValueId> in) {
  const ValueId x = in[0];
  const ValueId u = add(build, x, mul_scalar(build, pow(build, x, 3), kTanhCubic));
  const ValueId one_plus_tanh = mul_scalar(build, sigmoid(build, mul_scalar(build, u, 2 * kTanhScale)), 2);
  return {cast(build, mul(build, mul_scalar(build, x, 0.5), one_plus_tanh), build.dtype(x))};
}

double flops(const Signature& s) { return 8.0 * static_cast<double>(s.out[0].numel()); }

}  // namespace

const OpCard kGelu = {.name = "gelu", .infer = infer, .gradient = gradient, .flops = flops, .reference = reference};
const OpCard kGeluNew = {.name = "gelu_new",
                         .infer = infer,
                         .gradient = gradient,
                         .flops = flops,
                         .reference = reference,
                         .decompose = decompose_new};
const OpCard kGeluBackward = {.name = "gelu_backward",
                              .infer = infer,
                              .flops = [](const Signature& s) { return 16.0 * static_cast<double>(s.out[0].numel()); },
                              .reference = reference_backward};

std::span<const OpCard* const> gelu_cards() {
  static constexpr const OpCard* kCards[] = {&kGelu, &kGeluNew, &kGeluBackward};
  return kCards;
}

ValueId gelu(Builder& build, ValueId x, bool tanh) { return build.emit_one(kGelu, GeluAttributes{tanh}, {x}); }
ValueId gelu_new(Builder& build, ValueId x) { return build.emit_one(kGeluNew, GeluAttributes{.tanh = true}, {x}); }

}  // namespace laptime
