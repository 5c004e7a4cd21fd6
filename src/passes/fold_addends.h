// fold_addends: an op itself adds the other operand of a sum to its result, if its card says that it can.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Folds a sum (OpCard::is_sum) into the op that produces one of its operands, directly or through reshapes, if that op
// can take an addend (OpCard::fold_addend), only the sum reads the operand, and the other operand exists before the op
// runs.
Graph fold_addends(const Graph& graph);

}  // namespace laptime
