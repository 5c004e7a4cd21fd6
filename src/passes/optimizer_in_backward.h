// optimizer_in_backward: updates each parameter as soon as its gradient is complete, so that no gradient is kept.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Moves every optimizer node directly behind the last node that makes one of its inputs or reads a state that it
// updates. The phases backward and optimizer then interleave. There is no gain if a node needs all gradients, as
// clipping does.
Graph optimizer_in_backward(const Graph& graph);

}  // namespace laptime
