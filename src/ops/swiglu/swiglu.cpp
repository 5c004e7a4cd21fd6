// Cards of the SwiGLU gate.
#include "ops/swiglu/swiglu.h"

#include <cmath>

#include "ops/pointwise/pointwise.h"

namespace laptime {
namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> in) {
  return {{promote(in[0].dtype, in[1].dtype), pointwise_layout(in[0].shape(), in)}};
}

std::vector<TensorType> infer_backward(const Attributes&, std::span<const TensorType> in) {
  return {{in[1].dtype, dense_like(in[1].layout)}, {in[2].dtype, dense_like(in[2].layout)}};
}

void reference(const OpCall& call) {
  for (int64_t i = 0; i < call.out[0].numel(); ++i) {
    const double a = call.in[0].at(i);
    call.out[0].put(i, a / (1 + std::exp(-a)) * call.in[1].at(i));
  }
}

// d silu / da = s (1 + a (1 - s)) with s = sigmoid(a)
void reference_backward(const OpCall& call) {
  for (int64_t i = 0; i < call.out[0].numel(); ++i) {
    const double grad = call.in[0].at(i);
    const double a = call.in[1].at(i);
    const double b = call.in[2].at(i);
    const double s = 1 / (1 + std::exp(-a));
    call.out[0].put(i, grad * b * (s * (1 + a * (1 - s))));
    call.out[1].put(i, grad * (a * s));
  }
}

void gradient(GradientContext& c) {
  const ValueId inputs[] = {c.grad_out[0], c.in[0], c.in[1]};
  c.grad_in = c.build.emit(kSwigluBackward, {}, inputs);
}

std::vector<ValueId> decompose(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  if (!attributes.empty()) return {mul(build, silu(build, in[0]), in[1])};
  return {mul(build, mul(build, in[0], sigmoid(build, in[0])), in[1])};
}

}  // namespace

const OpCard kSwiglu = {.name = "swiglu",
                        .infer = infer,
                        .gradient = gradient,
                        .flops = [](const Signature& s) { return 6.0 * static_cast<double>(s.out[0].numel()); },
                        .reference = reference,
                        .decompose = decompose};
const OpCard kSwigluBackward = {.name = "swiglu_backward",
                                .infer = infer_backward,
                                .flops = [](const Signature& s) { return 12.0 * static_cast<double>(s.in[0].numel()); },
                                .reference = reference_backward,
                                .may_overwrite = {{0, 1}, {1, 2}, {0, 0}, {1, 0}}};

std::span<const OpCard* const> swiglu_cards() {
  static constexpr const OpCard* kCards[] = {&kSwiglu, &kSwigluBackward};
  return kCards;
}

ValueId swiglu(Builder& build, ValueId a, ValueId b, bool has_silu) {
  return build.emit_one(kSwiglu, has_silu ? Attributes(SwigluAttributes{true}) : Attributes(), {a, b});
}

}  // namespace laptime
