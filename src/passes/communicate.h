// communicate: places the communication of a step over several ranks, so that it overlaps with computation.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace laptime {

// Joins communication of one op into buckets of at least `bucket_bytes`, in the order in which its values are ready,
// and starts each bucket as soon as all of it is ready. Before the first node that reads a bucket, and at the end of
// the step for a bucket that nothing reads, stands a node that waits for it.
//
// Ops that are made where they are read (OpCard::is_made_where_read) have one bucket for each layer, and for each
// module outside of the layers. It is made before forward reads it and again before backward does, and starts while the
// step computes the layer before. Casts and views of its values are made again with it, so that no copy outlives the
// layer.
Graph communicate(const Graph& graph, int64_t bucket_bytes);

}  // namespace laptime
