// Cross entropy of a linear layer's outputs, whose logits never exist as a whole: each backward makes them again.
#pragma once

#include <optional>

#include "graph/builder.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/linear/linear.h"

namespace laptime {

// (x [..., d], weight [V, d], targets int64 [...][, bias [V]]) -> (loss [], log_sum_exp [...], logits [..., V]): the
// mean of cross_entropy(x weight^T + bias, targets), float32; the logits only where somebody reads them. x has two axes
// or more. It is lowered in two parts, linear and cross_entropy.
extern const OpCard kLinearCrossEntropy;
// (grad_loss [], x, weight, targets, log_sum_exp[, bias]) -> (grad_x, grad_weight[, grad_bias]), each only where
// somebody reads it. The gradient of the logits is rounded as the factors are before it is multiplied.
extern const OpCard kLinearCrossEntropyBackward;
struct LinearCrossEntropyBackwardInputs {
  static constexpr int kGradLoss = 0, kX = 1, kWeight = 2, kTargets = 3, kLogSumExp = 4, kBias = 5;
};

struct LinearCrossEntropyAttributes {
  LinearForm linear = LinearForm::kEinsum;                // how the modules that it stands for are written
  CrossEntropyForm loss = CrossEntropyForm::kWrittenOut;  // "
  std::optional<DType> compute{};  // what x, weight and bias are rounded to; none: the type in which they meet
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("linear", self.linear);
    visit("loss", self.loss);
    if (self.compute) visit("compute", *self.compute);
  }
};

struct LinearCrossEntropyBackwardAttributes {
  std::optional<DType> compute{};  // as above
  // Types of the results; none: those of the operands.
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
// `bias` may be invalid.
LinearCrossEntropy linear_cross_entropy(Builder& build, ValueId x, ValueId weight, ValueId bias, ValueId targets,
                                        const LinearCrossEntropyAttributes& attributes);

std::span<const OpCard* const> linear_cross_entropy_cards();

}  // namespace laptime
