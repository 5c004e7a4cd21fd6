// RMSNorm over the last axis: x / sqrt(mean(x^2) + eps) * weight (Zhang and Sennrich 2019).
#pragma once

#include "graph/builder.h"

namespace laptime {

// (x [..., C], weight [C]) -> (y [..., C], rstd [..., 1])
extern const OpCard kRmsNorm;

struct RmsNormAttributes {
  double eps = 1e-5;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("eps", self.eps);
  }
};

ValueId rms_norm(Builder& build, ValueId x, ValueId weight, double eps);

std::span<const OpCard* const> rms_norm_cards();

}  // namespace laptime
