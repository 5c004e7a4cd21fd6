// store_copies: keeps the copies of parameters in autocast's type from step to step.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Replaces the casts of a parameter by a copy that outlives the step: set-up makes the copy, and the optimizer updates
// it together with the parameter (OpCard::with_copy). A step then reads each parameter once less, but its copy is never
// freed. A parameter whose optimizer cannot write a copy, or updates only a part of it, keeps its casts.
Graph store_copies(const Graph& graph);

}  // namespace laptime
