// Softmax over the last axis, and its logarithm.
#pragma once

#include "graph/builder.h"

namespace laptime {

// x [..., C] -> y [..., C] = exp(x - max(x)) / sum(exp(x - max(x)))
extern const OpCard kSoftmax;
// (grad_y [..., C], y [..., C]) -> grad_x [..., C] = y (grad_y - sum(grad_y y))
extern const OpCard kSoftmaxBackward;

// x [..., C] -> y [..., C] = x - max(x) - log(sum(exp(x - max(x))))
extern const OpCard kLogSoftmax;
// (grad_y [..., C], y [..., C]) -> grad_x [..., C] = grad_y - exp(y) sum(grad_y)
extern const OpCard kLogSoftmaxBackward;

ValueId softmax(Builder& build, ValueId x);
ValueId log_softmax(Builder& build, ValueId x);

std::span<const OpCard* const> softmax_cards();

}  // namespace laptime
