// fold_addends: a sum with the result of an op that can add goes into that op.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Where an op that can take an addend (OpCard::fold_addend) makes a value that only a sum reads (OpCard::is_sum), seen
// through reshapes, and the sum's other operand is there before the op runs, the op adds it.
Graph fold_addends(const Graph& graph);

}  // namespace laptime
