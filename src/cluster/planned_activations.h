// planned_activations: the bytes that a step allocates and frees, from the plan of a rank's share.
#pragma once

#include "config/parallel.h"
#include "plan/plan.h"
#include "predict/rank_bytes.h"

namespace laptime {

// True if tensor-parallel ranks divide the rows of an activation with this many columns. Between products they divide
// the sequence (Korthikanti et al. 2022): the residual stream and norms, which are `d_model` wide. Values of attention,
// feed-forward and head may be as wide, but the share of a rank already has their parts.
bool divides_rows(const Region& region, int64_t columns, int64_t d_model);

// Counts activations, workspaces and gradients in the plan of a step of `layers` layers, and copies of parameters
// unless ranks shard parameters. All layers but the last keep the same bytes.
PlannedActivations planned_activations(const Plan& plan, int64_t layers, int64_t d_model, const ParallelLayout& layout);

}  // namespace laptime
