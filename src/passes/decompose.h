// decompose: lowers composites to the primitives that a framework runs one by one.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace laptime {

// Lowers every node whose card has a decomposition and is not named in `keep`, until none is left.
Graph decompose(const Graph& graph, const std::vector<std::string>& keep);

}  // namespace laptime
