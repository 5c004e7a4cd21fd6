// SwiGLU gate: silu(a) * b (Shazeer 2020).
#pragma once

#include "graph/builder.h"

namespace laptime {

// (a [...], b [...]) -> y [...] = a sigmoid(a) b
extern const OpCard kSwiglu;
// (grad_y [...], a [...], b [...]) -> (grad_a [...], grad_b [...])
extern const OpCard kSwigluBackward;

// The attributes of a gate that the model writes as silu(a) * b. A gate written as a * sigmoid(a) * b has no
// attributes.
struct SwigluAttributes {
  bool has_silu = false;  // true if the framework runs silu as one kernel
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("has_silu", self.has_silu);
  }
};

ValueId swiglu(Builder& build, ValueId a, ValueId b, bool has_silu = false);

std::span<const OpCard* const> swiglu_cards();

}  // namespace laptime
