// store_copies: keeps the copies of parameters in autocast's type from step to step.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Replaces the casts of a parameter by a copy that outlives the step: set-up makes the copy, and the optimizer updates
// it together with the parameter (OpCard::with_copy). This saves one read of each parameter per step, but the copies
// are never freed. A parameter whose optimizer cannot write a copy, or updates only a part of the parameter, keeps its
// casts.
Graph store_copies(const Graph& graph);

}  // namespace laptime
