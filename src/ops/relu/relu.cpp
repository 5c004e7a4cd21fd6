// Cards of ReLU.
#include "ops/relu/relu.h"

namespace laptime {
namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> in) {
  return {{in[0].dtype, pointwise_layout(in[0].shape(), in)}};
}

void reference(const OpCall& call) {
  for (int64_t i = 0; i < call.out[0].numel(); ++i) {
    const double x = call.in[0].at(i);
    call.out[0].put(i, x < 0 ? 0 : x);
  }
}

void reference_backward(const OpCall& call) {
  for (int64_t i = 0; i < call.out[0].numel(); ++i) call.out[0].put(i, call.in[1].at(i) > 0 ? call.in[0].at(i) : 0);
}

void gradient(GradientContext& c) { c.grad_in[0] = c.build.emit_one(kReluBackward, {}, {c.grad_out[0], c.out[0]}); }

double flops(const Signature& s) { return static_cast<double>(s.out[0].numel()); }

}  // namespace

const OpCard kRelu = {.name = "relu", .infer = infer, .gradient = gradient, .flops = flops, .reference = reference};
const OpCard kReluBackward = {.name = "relu_backward", .infer = infer, .flops = flops, .reference = reference_backward};

std::span<const OpCard* const> relu_cards() {
  static constexpr const OpCard* kCards[] = {&kRelu, &kReluBackward};
  return kCards;
}

ValueId relu(Builder& build, ValueId x) { return build.emit_one(kRelu, {}, {x}); }

}  // namespace laptime
