// Cross entropy of the outputs of a linear layer. The logits are computed tile by tile, and again in backward, so that
// they need never be stored as a whole.
#pragma once

#include <optional>

#include "graph/builder.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/linear/linear.h"

namespace laptime {

// (x [..., d], weight [V, d], targets int64 [...][, bias [V]])
//   -> (loss [] float32, log_sum_exp [...] float64, logits [..., V])
// loss = cross_entropy(x weight^T + bias, targets). The logits are written only if they are read. x has at least two
// axes. The op is lowered in two parts, linear and cross_entropy.
extern const OpCard kLinearCrossEntropy;
// (grad_loss [], x [..., d], weight [V, d], targets [...], log_sum_exp [...][, bias [V]])
//   -> (grad_x [..., d], grad_weight [V, d][, grad_bias [V]]), each only if it is read
// Before it is multiplied, the gradient of the logits is rounded like the other factors.
extern const OpCard kLinearCrossEntropyBackward;
struct LinearCrossEntropyBackwardInputs {
  static constexpr int kGradLoss = 0, kX = 1, kWeight = 2, kTargets = 3, kLogSumExp = 4, kBias = 5;
};

struct LinearCrossEntropyAttributes {
  LinearForm linear = LinearForm::kEinsum;  // how the model writes the two layers
  CrossEntropyForm loss = CrossEntropyForm::kWrittenOut;
  std::optional<DType> compute{};  // as in ProductAttributes, for x, weight and bias
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("linear", self.linear);
    visit("loss", self.loss);
    if (self.compute) visit("compute", *self.compute);
  }
};

struct LinearCrossEntropyBackwardAttributes {
  std::optional<DType> compute{};
  // Types of the gradients; absent: those of the operands.
  std::optional<DType> grad_x{};
  std::optional<DType> grad_weight{};
  std::optional<DType> grad_bias{};
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    if (self.compute) visit("compute", *self.compute);
    if (self.grad_x) visit("grad_x", *self.grad_x);
    if (self.grad_weight) visit("grad_weight", *self.grad_weight);
    if (self.grad_bias) visit("grad_bias", *self.grad_bias);
  }
};

struct LinearCrossEntropy {
  ValueId loss, logits;
};
// Emits the op. `bias` may be invalid.
LinearCrossEntropy linear_cross_entropy(Builder& build, ValueId x, ValueId weight, ValueId bias, ValueId targets,
                                        const LinearCrossEntropyAttributes& attributes);

std::span<const OpCard* const> linear_cross_entropy_cards();

}  // namespace laptime
