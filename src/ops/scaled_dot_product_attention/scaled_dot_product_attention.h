// Scaled dot product attention, causal or full (Vaswani et al. 2017).
#pragma once

#include "graph/builder.h"
#include "ops/dropout/dropout.h"

namespace laptime {

// () -> bool [T, T], true where key <= query
extern const OpCard kCausalMask;
// (q [B, h, T, d], k, v[, step int64 []]) -> (values [B, h, T, d], log_sum_exp [B, h, T, 1] float32): the values in q's
// order of axes, the natural logarithm of each row's sum of e^score.
extern const OpCard kScaledDotProductAttention;
// (q, k, v, values, log_sum_exp, grad_values[, step int64 []]) -> (grad_q, grad_k, grad_v), each in its input's order
// of axes. The attributes are those of the forward op.
extern const OpCard kScaledDotProductAttentionBackward;

struct CausalMaskAttributes {
  int64_t size = 0;  // T
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("size", self.size);
  }
};
struct AttentionAttributes {
  bool causal = true;  // a query sees no later key
  double dropout_p =
      0;  // on the attention weights: element (b, head, query, key) of [B, h, T, T] as dropout.h keeps it
  uint64_t seed = 0;
  uint64_t place = 0;  // of the dropout
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("causal", self.causal);
    visit("dropout_p", self.dropout_p);
    visit("seed", self.seed);
    visit("place", self.place);
  }
  DropoutAttributes dropout() const { return {dropout_p, seed, place}; }
};

// `step` may be invalid where dropout_p is 0. The place of the dropout is the scope `weights` within the builder's own.
ValueId scaled_dot_product_attention(Builder& build, ValueId q, ValueId k, ValueId v, ValueId step,
                                     AttentionAttributes attributes);

std::span<const OpCard* const> scaled_dot_product_attention_cards();

}  // namespace laptime
