// autocast: inputs of forward ops cast as torch.autocast casts them, by the policy on each card.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Casts the root of a chain of views and applies the views again: one lower copy per parameter, living through forward;
// one per use for activations.
Graph autocast(const Graph& graph, DType lower);

}  // namespace laptime
