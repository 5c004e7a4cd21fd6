// fold_casts: an op performs the casts of its inputs and outputs itself, where its card says that it can.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Removes a cast of an op's output if every reader of that output casts it to the same type. Takes away the readers of
// a cast of an op's input if every one of them can fold it; dead_code then drops the cast. The cards decide which ops
// can (fold_output_cast, fold_input_cast) and which op is a cast (is_cast).
Graph fold_casts(const Graph& graph);

}  // namespace laptime
