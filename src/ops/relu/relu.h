// ReLU (Nair and Hinton 2010).
#pragma once

#include "graph/builder.h"

namespace laptime {

// x -> y = max(x, 0); NaN stays NaN
extern const OpCard kRelu;
// (grad_y, y) -> grad_x = grad_y if y > 0, otherwise 0
extern const OpCard kReluBackward;

ValueId relu(Builder& build, ValueId x);

std::span<const OpCard* const> relu_cards();

}  // namespace laptime
