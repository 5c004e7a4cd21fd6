// Small graphs that demonstrate the effects of number types: sums, a toy model under autocast, and layer norm.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace laptime {

// One iteration of the loop `sum += element`. The sum is the source "sum", and the element is the output "element". The
// element is added unchanged, or widened to the type of the sum first.
struct Accumulation {
  DType sum = DType::kFloat32;
  DType element = DType::kFloat32;
  bool widens = false;
  double value = 0.01;
};
Graph accumulation_graph(const Accumulation& accumulation);

struct ToySizes {
  static constexpr int64_t kInputs = 5, kHidden = 10, kOutputs = 20;
};
// The graph, before any pass, of Linear(5, 10, no bias) -> ReLU -> LayerNorm(10) -> Linear(10, 20, no bias) on the row
// "x" [1, 5], the mean squared error with "targets" [1, 20], and the gradients of all parameters. `real` is the type of
// the parameters. The outputs are "first layer", "layer norm", "logits", "loss", and "grad/" + parameter.
Graph toy_model_graph(DType real);

// Layer norm over "x" [1, width], without weight and bias, with the outputs "variance" and "y". It is computed
// operation by operation in `dtype`, or by the kernel of the op, which keeps its statistics in float32 and has no
// output "variance".
enum class NormForm : uint8_t { kWrittenOut, kKernel };
Graph layer_norm_graph(DType dtype, int64_t width, NormForm form);

}  // namespace laptime
