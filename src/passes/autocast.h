// autocast: casts the inputs of forward ops like torch.autocast, according to the policy in each op card.
#pragma once

#include "graph/graph.h"

namespace laptime {

// If the input is a view, casts the tensor under the chain of views and applies the views to the copy. Each micro-batch
// makes one copy of a parameter in the lower type, which lives until forward ends; with `shares_copies`, all
// micro-batches share one copy. An activation, or a parameter that a deferred node reads, has one copy per use.
Graph autocast(const Graph& graph, DType lower, bool shares_copies = false);

}  // namespace laptime
