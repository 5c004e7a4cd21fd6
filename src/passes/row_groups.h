// Row groups: a composite runs forward and backward for one group of rows at a time, so that the values saved for
// backward exist for only one group at a time.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Lowers every node whose op card can split its rows (OpCard::split_rows).
Graph split_rows(const Graph& graph);

// Moves the forward nodes of each row group, which split_rows marks as deferred, to directly before the first node of
// backward that needs the group. Forward nodes that read deferred values run as soon as they can, so the forward of a
// group directly precedes its backward, and the phases forward and backward interleave. The graph must be
// differentiated and must have no dead nodes.
Graph run_deferred(const Graph& graph);

}  // namespace laptime
