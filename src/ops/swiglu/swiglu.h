// SwiGLU gate: silu(a) * b (Shazeer 2020).
#pragma once

#include "graph/builder.h"

namespace laptime {

// (a [...], b [...]) -> y [...] = a sigmoid(a) b
extern const OpCard kSwiglu;
// (grad_y [...], a [...], b [...]) -> (grad_a [...], grad_b [...])
extern const OpCard kSwigluBackward;

ValueId swiglu(Builder& build, ValueId a, ValueId b);

std::span<const OpCard* const> swiglu_cards();

}  // namespace laptime
