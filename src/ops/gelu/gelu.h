// GELU, exact (erf) or with the tanh approximation (Hendrycks and Gimpel 2016).
#pragma once

#include "graph/builder.h"

namespace laptime {

// x -> y = x Phi(x), where Phi is the standard normal distribution function; with `tanh`,
// y = 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
extern const OpCard kGelu;
// GELU with the tanh approximation, op by op as in the transformers library (NewGELUActivation). Attributes:
// GeluAttributes with `tanh` set.
extern const OpCard kGeluNew;
// (grad_y, x) -> grad_x
extern const OpCard kGeluBackward;

struct GeluAttributes {
  bool tanh = false;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("tanh", self.tanh);
  }
};

ValueId gelu(Builder& build, ValueId x, bool tanh);
ValueId gelu_new(Builder& build, ValueId x);

std::span<const OpCard* const> gelu_cards();

}  // namespace laptime
