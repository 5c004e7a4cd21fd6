// The card of the clipping coefficient, and the nodes that clip gradients.
#include "ops/clip_grad_norm/clip_grad_norm.h"

#include <algorithm>

#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"

namespace laptime {
namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> in) { return {in[0]}; }

void reference(const OpCall& call) {
  call.out[0].put(0,
                  std::min(1.0, call.attributes.as<ClipAttributes>().max_norm / (call.in[0].at(0) + kClipNormEpsilon)));
}

}  // namespace

const OpCard kClipCoefficient = {
    .name = "clip_coefficient", .infer = infer, .flops = [](const Signature&) { return 3.0; }, .reference = reference};

std::span<const OpCard* const> clip_grad_norm_cards() {
  static constexpr const OpCard* kCards[] = {&kClipCoefficient};
  return kCards;
}

ValueId squared_norm(Builder& build, std::span<const ValueId> gradients, std::span<const ValueId> scopes) {
  ValueId sum;
  for (size_t i = 0; i < gradients.size(); ++i) {
    const auto scope = build.scope_of(scopes[i]);
    const ValueId squares = sum_all(build, square(build, gradients[i]));
    sum = sum.valid() ? add(build, sum, squares) : squares;
  }
  return sum;
}

ClippedGradients clip_to(Builder& build, std::span<const ValueId> gradients, std::span<const ValueId> scopes,
                         ValueId squared_norm, double max_norm) {
  ClippedGradients clipped;
  ValueId coefficient;
  {
    const auto scope = build.scope(kClipScope);
    clipped.norm = sqrt(build, squared_norm);
    coefficient = build.emit_one(kClipCoefficient, ClipAttributes{max_norm}, {clipped.norm});
  }
  for (size_t i = 0; i < gradients.size(); ++i) {
    const auto scope = build.scope_of(scopes[i]);
    clipped.gradients.push_back(mul(build, gradients[i], coefficient));
    build.mark_role(clipped.gradients.back(), Role::kGradient);
  }
  return clipped;
}

}  // namespace laptime
