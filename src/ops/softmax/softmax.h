// Softmax over the last axis: exp(x - max) / sum.
#pragma once

#include "graph/builder.h"

namespace laptime {

extern const OpCard kSoftmax;

ValueId softmax(Builder& build, ValueId x);

std::span<const OpCard* const> softmax_cards();

}  // namespace laptime
