// differentiate: replaces the symbolic gradients node with the backward graph.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Reverse-mode differentiation with the gradient functions of the cards. For every op, the pass itself sums over
// broadcast axes, casts to the value's type, adds up the gradients of a value with several uses, and converts a
// parameter's gradient to the parameter's layout as soon as it is complete. Backward nodes have the scope of their
// forward node.
Graph differentiate(const Graph& graph);

}  // namespace laptime
