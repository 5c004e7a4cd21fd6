// SwiGLU gate: a sigmoid(a) b   (Shazeer 2020)
#include "ops/swiglu/swiglu.h"

#include <cmath>

#include "ops/pointwise/pointwise.h"

namespace laptime {
namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> in) {
  return {{promote(in[0].dtype, in[1].dtype), pointwise_layout(in[0].shape(), in)}};
}

void reference(const OpCall& call) {
  for (int64_t i = 0; i < call.out[0].numel(); ++i) {
    const double a = call.in[0].at(i);
    call.out[0].put(i, a / (1 + std::exp(-a)) * call.in[1].at(i));
  }
}

std::vector<ValueId> decompose(Builder& build, const Attributes&, std::span<const ValueId> in) {
  return {mul(build, mul(build, in[0], sigmoid(build, in[0])), in[1])};
}

}  // namespace

const OpCard kSwiglu = {.name = "swiglu",
                        .infer = infer,
                        .flops = [](const Signature& s) { return 6.0 * static_cast<double>(s.out[0].numel()); },
                        .reference = reference,
                        .decompose = decompose};

std::span<const OpCard* const> swiglu_cards() {
  static constexpr const OpCard* kCards[] = {&kSwiglu};
  return kCards;
}

ValueId swiglu(Builder& build, ValueId a, ValueId b) { return build.emit_one(kSwiglu, {}, {a, b}); }

}  // namespace laptime
