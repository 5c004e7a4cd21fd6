// The step of attention alone: scaled dot product attention, with or without its projections, and nothing around it.
#pragma once

#include "config/run_config.h"
#include "graph/graph.h"

namespace laptime {

// Forward, and unless the pass is inference the gradient of the sum of what it computes for every input and weight. The
// sum itself is not computed: its gradient is ones. Outputs: the values [B, 1, T, d_model], with projections
// [B, T, d_model], and the gradients.
Graph build_attention_step(const RunConfig& config, DType real);

}  // namespace laptime
