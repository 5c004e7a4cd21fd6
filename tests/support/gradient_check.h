// A card's gradient against central differences, in float64 on the references.
#pragma once

#include "graph/op.h"
#include "support/operand.h"

namespace laptime::test {

struct GradientCase {
  const OpCard* op = nullptr;
  Attributes attributes{};
  // Floating operands without a type are float64 and their gradients are checked.
  std::vector<Operand> inputs{};
  // Outputs that the loss depends on.
  std::vector<int> outputs{0};
};

// The loss is the sum of the outputs times random weights. For every element of every input the derivative that the
// card's gradient builds must be that of the loss, within 1e-6 of the gradient's largest element.
void expect_gradient(const GradientCase& test);

}  // namespace laptime::test
