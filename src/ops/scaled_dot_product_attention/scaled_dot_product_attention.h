// Scaled dot product attention (Vaswani et al. 2017): softmax(q k^T / sqrt(d)) v, causal or full. Query head i reads
// key and value head floor(i g / h), out of g (Ainslie et al. 2023); h is a multiple of g.
#pragma once

#include "graph/builder.h"
#include "ops/dropout/dropout.h"

namespace laptime {

// () -> bool [T, T]: element (query, key) is true if key <= query; or float32 [T, T]: 0 if key <= query, otherwise the
// lowest finite number
extern const OpCard kCausalMask;
// (q [B, h, T, d], k [B, g, T, d], v [B, g, T, d][, step int64 []])
//   -> (values [B, h, T, d] in the memory order of q, log_sum_exp [B, h, T, 1] float32 = log(sum(exp(scores))))
extern const OpCard kScaledDotProductAttention;
// (q, k, v, values, log_sum_exp, grad_values [B, h, T, d][, step int64 []]) -> (grad_q, grad_k, grad_v), each in the
// memory order of its input. The attributes are the same as in forward.
extern const OpCard kScaledDotProductAttentionBackward;

// The widest head whose scores are computed block by block. For wider heads, whole rows of scores are computed and
// then multiplied by the values.
inline constexpr int64_t kWidestFusedHead = 256;
// The widest head that the fused GPU kernels support in every number type.
inline constexpr int64_t kWidestFusedHeadOnGpu = 128;

struct CausalMaskAttributes {
  int64_t size = 0;          // T
  bool is_additive = false;  // true if the mask is float32 instead of bool
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("size", self.size);
    if (self.is_additive) visit("is_additive", self.is_additive);
  }
};

// How a framework writes attention: as in the modules of the source documents, or as in the eager attention of
// transformers, which repeats keys and values for each query head, multiplies by 1 / sqrt(d) and adds a mask.
enum class AttentionForm : uint8_t { kModules, kTransformers };
const char* name_of(AttentionForm form);

struct AttentionAttributes {
  bool causal = true;  // apply a causal mask
  // Dropout of the attention weights [B, h, T, T], as dropout.h defines it.
  double dropout_p = 0;
  uint64_t seed = 0;
  uint64_t place = 0;
  AttentionForm form = AttentionForm::kModules;
  int64_t first = 0;  // as in DropoutAttributes
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("causal", self.causal);
    visit("dropout_p", self.dropout_p);
    visit("seed", self.seed);
    visit("place", self.place);
    if (self.form != AttentionForm::kModules) visit("form", self.form);
    if (self.first != 0) visit("first", self.first);
  }
  DropoutAttributes dropout() const { return {dropout_p, seed, place, first}; }
};

// `step` may be invalid if dropout_p is 0. The place of the dropout is the scope `weights` within the current scope.
// `rank` is the rank whose sequences the tensors contain; all ranks have the same number of sequences.
ValueId scaled_dot_product_attention(Builder& build, ValueId q, ValueId k, ValueId v, ValueId step,
                                     AttentionAttributes attributes, int64_t rank = 0);

std::span<const OpCard* const> scaled_dot_product_attention_cards();

}  // namespace laptime
