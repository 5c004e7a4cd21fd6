// Layer normalisation over the last axis (Ba et al. 2016).
#pragma once

#include "graph/builder.h"

namespace laptime {

// (x [..., C], weight [C], bias [C]) -> (y [..., C], mean [..., 1], rstd [..., 1]); statistics float32
extern const OpCard kLayerNorm;
// (grad [..., C], x, mean, rstd, weight, addend [..., C] where there is one)
//   -> (grad x + addend, grad weight [C], grad bias [C])
extern const OpCard kLayerNormBackward;

struct LayerNormAttributes {
  double eps = 1e-5;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("eps", self.eps);
  }
};

struct LayerNormBackwardAttributes {
  bool addend = false;  // what reaches x past the norm: the gradient of a residual stream
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("addend", self.addend);
  }
};

ValueId layer_norm(Builder& build, ValueId x, ValueId weight, ValueId bias, double eps);

std::span<const OpCard* const> layer_norm_cards();

}  // namespace laptime
