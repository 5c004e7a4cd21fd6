// dead_code: removes nodes whose results are not needed.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Keeps the nodes that an output of the graph or a state's next value depends on.
Graph dead_code(const Graph& graph);

}  // namespace laptime
