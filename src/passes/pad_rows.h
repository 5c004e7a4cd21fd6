// pad_rows: aligns the rows of results whose row size is not a multiple of 16 bytes, such as logits.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Pads the rows of a result (padded_type) if their size is not a multiple of kWidestAccessBytes, every op that reads
// the result is as fast with gaps (OpCard::reads_padded_rows), and padding adds less than an eighth to its bytes. A
// result and the operand that it overwrites are padded together or not at all.
Graph pad_rows(const Graph& graph);

}  // namespace laptime
