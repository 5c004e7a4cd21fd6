// fold_casts: an op performs the casts of its inputs and outputs itself, where its card says that it can.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Removes a cast of an op's output if every reader of that output casts it to the same type, and a cast of an op's
// input if every reader of the cast can fold it. The cards decide which ops can (fold_output_cast, fold_input_cast) and
// which op is a cast (is_cast).
Graph fold_casts(const Graph& graph);

}  // namespace laptime
