// differentiate: replaces the symbolic gradients node with the backward graph.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace laptime {

// Which of the two gradients of a linear layer is computed first.
enum class GradientOrder : uint8_t {
  kInputsFirst,   // as in PyTorch
  kWeightsFirst,  // needs less memory: the layer's saved input is freed before the gradient of the input exists
};

// Reverse-mode differentiation with the gradient functions of the op cards. For every op, the pass itself sums over
// broadcast axes, casts to the value's type, adds up the gradients of a value with several uses, and converts a
// parameter's gradient to the parameter's layout as soon as the gradient is complete. Backward nodes have the scope of
// their forward node.
Graph differentiate(const Graph& graph, GradientOrder order = GradientOrder::kInputsFirst);

}  // namespace laptime
