// RMSNorm over the last axis: x / sqrt(mean(x^2) + eps) * weight (Zhang and Sennrich 2019).
#pragma once

#include "graph/builder.h"

namespace laptime {

// (x [..., C], weight [C]) -> (y [..., C], rstd [..., 1] float32)
extern const OpCard kRmsNorm;
// (grad_y [..., C], x, rstd, weight, addend [..., C] where there is one) -> (grad_x + addend, grad_weight [C])
extern const OpCard kRmsNormBackward;

struct RmsNormAttributes {
  double eps = 1e-5;
  std::optional<DType> y_dtype{};  // nothing: that of x
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("eps", self.eps);
    visit("y_dtype", self.y_dtype);
  }
};

struct RmsNormBackwardAttributes {
  bool addend = false;  // what reaches x past the norm: the gradient of a residual stream
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("addend", self.addend);
  }
};

ValueId rms_norm(Builder& build, ValueId x, ValueId weight, double eps);

std::span<const OpCard* const> rms_norm_cards();

}  // namespace laptime
