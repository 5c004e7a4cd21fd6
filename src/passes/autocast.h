// autocast: casts the inputs of forward ops as torch.autocast does, by the policy on each op's card.
#pragma once

#include "graph/graph.h"

namespace laptime {

// If the input is a view, casts the tensor behind the chain of views and applies the views to the copy. A parameter has
// one copy, which lives until forward ends; an activation is cast once for each use.
Graph autocast(const Graph& graph, DType lower);

}  // namespace laptime
