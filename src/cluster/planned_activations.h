// planned_activations: the bytes that a step allocates and frees, from the plan of a rank's share.
#pragma once

#include "config/parallel.h"
#include "plan/plan.h"
#include "predict/rank_bytes.h"

namespace laptime {

// Counts activations, workspaces and gradients in the plan of a step of `layers` layers, and copies of parameters
// unless ranks shard parameters. All layers but the last keep the same bytes. Tensor-parallel ranks divide the rows of
// `d_model`-wide activations outside attention, feed-forward and head.
PlannedActivations planned_activations(const Plan& plan, int64_t layers, int64_t d_model, const ParallelLayout& layout);

}  // namespace laptime
