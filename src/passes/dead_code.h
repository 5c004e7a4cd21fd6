// dead_code: nodes whose values nobody needs are dropped.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Keeps what leads to an output of the graph or to a state's next value.
Graph dead_code(const Graph& graph);

}  // namespace laptime
