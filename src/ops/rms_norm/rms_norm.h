// RMSNorm over the last axis: x / sqrt(mean(x^2) + eps) * weight (Zhang and Sennrich 2019); alone and after an
// addition.
#pragma once

#include "graph/builder.h"

namespace laptime {

// (x [..., C], weight [C]) -> (y [..., C], rstd [..., 1] float32)
extern const OpCard kRmsNorm;
// (grad_y [..., C], x, rstd, weight) -> (grad_x, grad_weight [C])
extern const OpCard kRmsNormBackward;
// (x [..., C], r [..., C], weight [C]) -> (sum = x + r, y = rms_norm(sum), rstd [..., 1] float32)
extern const OpCard kAddRmsNorm;
// (grad_sum [..., C], grad_y, sum, rstd, weight) -> (grad_x, which r's gradient equals, grad_weight [C])
extern const OpCard kAddRmsNormBackward;

struct RmsNormAttributes {
  double eps = 1e-5;
  std::optional<DType> y_dtype{};  // nothing: that of x (of the sum)
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("eps", self.eps);
    visit("y_dtype", self.y_dtype);
  }
};

struct AddRmsNorm {
  ValueId sum, y;
};
ValueId rms_norm(Builder& build, ValueId x, ValueId weight, double eps);
AddRmsNorm add_rms_norm(Builder& build, ValueId x, ValueId r, ValueId weight, double eps);

std::span<const OpCard* const> rms_norm_cards();

}  // namespace laptime
