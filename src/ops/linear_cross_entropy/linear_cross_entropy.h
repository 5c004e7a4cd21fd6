// Cross entropy of the outputs of a linear layer: a composite that is always lowered to linear and cross_entropy,
// either for all rows at once or for one group of rows at a time.
#pragma once

#include "graph/builder.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/linear/linear.h"

namespace laptime {

// (x [..., d], weight [V, d], targets int64 [...][, bias [V]]) -> (loss [], logits [..., V])
// loss = cross_entropy(x weight^T + bias, targets). x has at least two axes. The op is lowered in two parts, linear and
// cross_entropy.
extern const OpCard kLinearCrossEntropy;

struct LinearCrossEntropyAttributes {
  LinearForm linear = LinearForm::kEinsum;  // how the model writes the linear layer
  CrossEntropyForm loss = CrossEntropyForm::kWrittenOut;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("linear", self.linear);
    visit("loss", self.loss);
  }
};

struct LinearCrossEntropy {
  ValueId loss, logits;
};
// Emits the op. `bias` may be invalid.
LinearCrossEntropy linear_cross_entropy(Builder& build, ValueId x, ValueId weight, ValueId bias, ValueId targets,
                                        const LinearCrossEntropyAttributes& attributes);

// The number of equal groups of rows. Groups are halved until their logits have at most as many elements as the larger
// of x and the weight, or until their number of rows is odd. Only shapes matter, so results do not depend on the
// machine.
int64_t row_groups(const Shape& x, const Shape& weight);

std::span<const OpCard* const> linear_cross_entropy_cards();

}  // namespace laptime
