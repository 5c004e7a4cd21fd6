// dead_code: removes nodes whose results are not needed.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Keeps only the nodes on which an output of the graph or a state's next value depends.
Graph dead_code(const Graph& graph);

}  // namespace laptime
