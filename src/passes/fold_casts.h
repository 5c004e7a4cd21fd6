// fold_casts: a cast beside an op that can do it itself goes into that op.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Folds casts of an op's output where every reader of that output casts it to one type, and casts of an op's input
// where every reader of the cast can fold it. Which ops can is their cards' word.
Graph fold_casts(const Graph& graph);

}  // namespace laptime
