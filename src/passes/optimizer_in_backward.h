// optimizer_in_backward: updates each parameter in backward, so that not all gradients are kept until the end.
#pragma once

#include "graph/graph.h"

namespace laptime {

// Moves the optimizer nodes of each parameter to directly after the last node that produces the parameter's gradient or
// reads its states, or to a later place if that lowers the peak of the step: the temporaries of an update, together
// with all saved activations, may take more memory than the gradient. The phases backward and optimizer then
// interleave. There is no gain if a node needs all gradients, as in clipping.
Graph optimizer_in_backward(const Graph& graph);

}  // namespace laptime
