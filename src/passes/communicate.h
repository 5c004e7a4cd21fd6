// communicate: places the communication of a step over several ranks, so that it overlaps with computation.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace laptime {

// Joins communication of one op into buckets of at least `bucket_bytes`, in the order in which the inputs become ready,
// and starts each bucket as soon as all its inputs are ready. A smaller bucket starts if a node reads one of its
// results, before the optimizer, and at the end of the step. A wait node stands before the first node that reads a
// bucket's results, before the next bucket but one starts, or at the end of the step, whichever is first.
//
// Gathers (ops with OpCard::is_made_where_read) have one bucket for each layer, and for each module outside of the
// layers. Each bucket is gathered before forward reads it and again before backward does, and the gather starts while
// the step computes the previous layer. Casts and views of gathered values are repeated in each phase, so that no copy
// outlives the layer.
Graph communicate(const Graph& graph, int64_t bucket_bytes);

}  // namespace laptime
