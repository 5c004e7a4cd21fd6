// Logarithm of the softmax over the last axis.
#pragma once

#include "graph/builder.h"

namespace laptime {

// x [..., C] -> x - max - log(sum(exp(x - max)))
extern const OpCard kLogSoftmax;
// (grad, y = log_softmax(x)) -> grad - exp(y) * sum(grad)
extern const OpCard kLogSoftmaxBackward;

ValueId log_softmax(Builder& build, ValueId x);

std::span<const OpCard* const> log_softmax_cards();

}  // namespace laptime
