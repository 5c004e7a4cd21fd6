// planned_activations: the bytes that a step allocates and frees, from the plan of a rank's share.
#pragma once

#include "config/parallel.h"
#include "plan/plan.h"
#include "predict/rank_bytes.h"

namespace laptime {

// True if tensor-parallel ranks split an activation with this many columns by rows. In the residual stream and norms,
// which are `d_model` wide, they split the sequence (Korthikanti et al. 2022). Activations of attention, feed-forward
// and head may have as many columns, but are not split again, because the plan of a rank has only its part of them.
bool divides_rows(const Region& region, int64_t columns, int64_t d_model);

// Counts activations, workspaces, gradients and, unless ranks shard parameters, copies of parameters in the plan of a
// step with `layers` layers. All layers but the last keep the same bytes.
PlannedActivations planned_activations(const Plan& plan, int64_t layers, int64_t d_model, const ParallelLayout& layout);

}  // namespace laptime
