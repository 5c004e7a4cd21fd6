// fold_addends: an op that produces one operand of a sum also adds the other one, if its op card permits it.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Folds a sum (OpCard::is_sum) into the op that produces one of its operands, directly or through reshapes. The op must
// be of the same phase and able to take an addend (OpCard::fold_addend), and only the sum may read the operand. Both
// operands must be contiguous and of the sum's shape, and the other operand must exist before the op runs.
Graph fold_addends(const Graph& graph);

}  // namespace laptime
