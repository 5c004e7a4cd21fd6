// fold_casts: a cast beside an op that can do it itself goes into that op.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Folds casts of an op's output where every reader of that output casts it to one type, and casts of an op's input
// where nobody else reads the result of the cast. Which ops can is their cards' word. Contractions keep theirs: the fastest
// product of a machine may be a library's, which takes operands of one type.
Graph fold_casts(const Graph& graph);

}  // namespace laptime
