// Softmax over the last axis: exp(x - max) / sum.
#pragma once

#include "graph/builder.h"

namespace laptime {

// x [..., C] -> exp(x - max) / sum
extern const OpCard kSoftmax;
// (grad_y, y = softmax(x)) -> y (grad_y - sum(grad_y y))
extern const OpCard kSoftmaxBackward;

ValueId softmax(Builder& build, ValueId x);

std::span<const OpCard* const> softmax_cards();

}  // namespace laptime
