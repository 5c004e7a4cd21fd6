// Negative log likelihood: the mean of -log_p at the targets.
#pragma once

#include "graph/builder.h"

namespace laptime {

// (log_p [N, V], targets int64 [N]) -> (loss [], total_weight [] = N)
extern const OpCard kNllLoss;
// (grad [], log_p for its shape, targets, total_weight) -> [N, V]: -grad / total_weight at the targets, zero elsewhere
extern const OpCard kNllLossBackward;

ValueId nll_loss(Builder& build, ValueId log_p, ValueId targets);

std::span<const OpCard* const> nll_loss_cards();

}  // namespace laptime
