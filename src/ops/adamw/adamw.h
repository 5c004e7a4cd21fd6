// AdamW (Loshchilov and Hutter 2019), for one tensor at a time, in three variants.
#pragma once

#include "graph/builder.h"

namespace laptime {

// The variants apply weight decay and eps at different points; the formulas are in adamw.cpp.
enum class AdamRule : uint8_t { k2025, k2026, kTorch };
const char* name_of(AdamRule rule);

// (w [...], grad [...], m [...], v [...], step int64 [] counted from 1, lr float32 [][, skip bool []]) -> (w, m, v),
// updated in place; unchanged if skip is true. m and v may have a narrower type than w: they are rounded when they are
// stored, but w is updated from the unrounded values.
extern const OpCard kAdamW;
// (copy [...], w, grad, m, v, step, lr[, skip]) -> (copy, w, m, v): like kAdamW, but also stores w, rounded, in the
// copy, which is not read. If skip is true, the copy must already match w, so that kernels need not write it.
extern const OpCard kAdamWWithCopy;
// (step int64 [], lr float32 []) -> float32 []: lr sqrt(1 - beta2^step) / (1 - beta1^step)
extern const OpCard kAdamStepSize;

struct AdamWAttributes {
  AdamRule rule = AdamRule::k2025;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("rule", self.rule);
    visit("beta1", self.beta1);
    visit("beta2", self.beta2);
    visit("eps", self.eps);
    visit("weight_decay", self.weight_decay);
  }
};

struct AdamState {
  ValueId w, m, v;
};
// Inputs that are the same for all parameters.
struct AdamInputs {
  ValueId step, lr;
  ValueId skip{};  // invalid if no step is ever skipped
};
// Emits one AdamW step. Returns the next values of the parameter and its state.
AdamState adamw(Builder& build, const AdamState& state, ValueId grad, const AdamInputs& inputs,
                const AdamWAttributes& attributes);

std::span<const OpCard* const> adamw_cards();

}  // namespace laptime
