// Negative log likelihood: the mean of -log_p at the targets.
#pragma once

#include "graph/builder.h"

namespace laptime {

// (log_p [N, V], targets int64 [N]) -> (loss [] = -mean(log_p[n, targets[n]]), total_weight [] = N)
extern const OpCard kNllLoss;
// (grad_loss [], log_p [N, V] only for its shape, targets [N], total_weight [])
//   -> grad_log_p [N, V]: -grad_loss / total_weight at the targets, zero elsewhere
extern const OpCard kNllLossBackward;

ValueId nll_loss(Builder& build, ValueId log_p, ValueId targets);

std::span<const OpCard* const> nll_loss_cards();

}  // namespace laptime
