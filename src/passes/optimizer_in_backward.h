// optimizer_in_backward: each parameter is updated as soon as its gradient is complete, so that no gradient is kept.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Moves every optimizer node to right after the last node that makes one of its inputs or still reads a state that it
// updates. Phases interleave then. Of use only where no node needs all gradients (clipping does).
Graph optimizer_in_backward(const Graph& graph);

}  // namespace laptime
