// optimizer_in_backward: updates each parameter in backward, so that not all gradients are kept until the end.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Moves the optimizer nodes of each parameter together behind the nodes that make its gradient or read its states, or
// further back where that keeps the peak of the step lower: temporaries of an update beside all saved activations may
// take more than the gradient. The phases backward and optimizer then interleave. There is no gain if a node needs all
// gradients, as clipping does.
Graph optimizer_in_backward(const Graph& graph);

}  // namespace laptime
