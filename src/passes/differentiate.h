// differentiate: the symbolic gradients node replaced by the backward graph.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Reverse-mode differentiation by the gradients on the cards. Emits, once for all ops, the sum over broadcast axes and
// the cast back to a value's type, adds up what meets at a value, and brings a parameter's gradient into the
// parameter's layout as soon as it is complete. Backward nodes carry the scope of their forward node.
Graph differentiate(const Graph& graph);

}  // namespace laptime
