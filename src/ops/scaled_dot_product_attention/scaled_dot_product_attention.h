// Scaled dot product attention with a causal mask (Vaswani et al. 2017).
#pragma once

#include "graph/builder.h"

namespace laptime {

// () -> bool [T, T], true where key <= query
extern const OpCard kCausalMask;
// (q [B, h, T, d], k, v, mask bool [T, T][, step int64 []]) -> (values [B, h, T, d], log_sum_exp [B, h, T, 1] float32)
extern const OpCard kScaledDotProductAttention;

struct CausalMaskAttributes {
  int64_t size = 0;  // T
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("size", self.size);
  }
};
struct AttentionAttributes {
  double dropout_p = 0;  // on the attention weights
  uint64_t seed = 0;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("dropout_p", self.dropout_p);
    visit("seed", self.seed);
  }
};

// `step` may be invalid where dropout_p is 0.
ValueId scaled_dot_product_attention(Builder& build, ValueId q, ValueId k, ValueId v, ValueId step,
                                     const AttentionAttributes& attributes);

std::span<const OpCard* const> scaled_dot_product_attention_cards();

}  // namespace laptime
