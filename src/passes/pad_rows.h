// pad_rows: aligns the rows of large results whose last axis has an odd size, such as logits.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Pads the rows of results (padded_type) that do not begin at multiples of kWidestAccessBytes, if every op that reads
// them is as fast with gaps (OpCard::reads_padded_rows) and padding adds hardly any memory. A result and the operand
// that it overwrites are padded together or not at all.
Graph pad_rows(const Graph& graph);

}  // namespace laptime
