// Compares the gradient of an OpCard with central differences, in float64 with the reference implementations.
#pragma once

#include "graph/op.h"
#include "support/operand.h"

namespace laptime::test {

struct GradientCase {
  const OpCard* op = nullptr;
  Attributes attributes{};
  // Operands without a type are float64. The gradients of float64 operands are checked.
  std::vector<Operand> inputs{};
  // The outputs that the loss depends on.
  std::vector<int> outputs{0};
};

// The loss is a weighted sum of the elements of the outputs, with a random weight for each. For each element of each
// input, the gradient that the op card builds must equal the derivative of the loss, within 1e-6 of the largest element
// of that gradient.
void expect_gradient(const GradientCase& test);

}  // namespace laptime::test
