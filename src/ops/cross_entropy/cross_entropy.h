// Cross entropy of logits and target ids, averaged over all positions.
#pragma once

#include "graph/builder.h"

namespace laptime {

// How the model writes cross entropy: with max, exp, sum, log and gather, or with log_softmax and nll_loss.
enum class CrossEntropyForm : uint8_t { kWrittenOut, kLogSoftmax };
const char* name_of(CrossEntropyForm form);

// (logits [..., V], targets int64 [...]) -> (loss [], log_sum_exp [...] float64). The loss has the accumulation type of
// the logits. The log-sum-exp is float64 because its rounding error affects every probability in the row.
extern const OpCard kCrossEntropy;
// (grad_loss [], logits [..., V], targets [...], log_sum_exp [...])
//   -> grad_logits [..., V] = (softmax(logits) - onehot(targets)) grad_loss / rows
extern const OpCard kCrossEntropyBackward;

struct CrossEntropyAttributes {
  CrossEntropyForm form = CrossEntropyForm::kWrittenOut;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("form", self.form);
  }
};

struct CrossEntropyBackwardAttributes {
  std::optional<DType> grad_dtype{};  // if absent, the type of the logits
  bool padded = false;                // the rows of the gradient are padded (padded_type)
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("grad_dtype", self.grad_dtype);
    if (self.padded) visit("padded", self.padded);
  }
};

ValueId cross_entropy(Builder& build, ValueId logits, ValueId targets, CrossEntropyForm form);

std::span<const OpCard* const> cross_entropy_cards();

}  // namespace laptime
