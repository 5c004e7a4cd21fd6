// Embedding, which selects rows of a table by index; and the constant 0, 1, ..., n-1.
#pragma once

#include "graph/builder.h"

namespace laptime {

// (weight [V, C], ids int64 [...]) -> [..., C]: row ids[...] of the weight. If `pad` is set, row `pad` gets no gradient
// (PyTorch's padding_idx).
extern const OpCard kEmbedding;
// (grad_y [..., C], ids int64 [...][, addend [V, C]]) -> grad_weight [V, C]: row i is row i of the addend, or zero,
// plus all rows of grad_y whose id is i, added in order. Nothing is added to row `pad`.
extern const OpCard kEmbeddingBackward;
// () -> int64 [n]: 0, 1, ..., n-1
extern const OpCard kArange;

constexpr int64_t kNoPad = -1;

struct EmbeddingAttributes {
  int64_t pad = kNoPad;  // id whose row gets no gradient
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    if (self.pad != kNoPad) visit("pad", self.pad);
  }
};
struct EmbeddingBackwardAttributes {
  int64_t rows = 0;  // V
  bool addend = false;
  int64_t pad = kNoPad;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("rows", self.rows);
    if (self.addend) visit("addend", self.addend);
    if (self.pad != kNoPad) visit("pad", self.pad);
  }
};
struct ArangeAttributes {
  int64_t size = 0;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("size", self.size);
  }
};

ValueId embedding(Builder& build, ValueId weight, ValueId ids, int64_t pad = kNoPad);
ValueId arange(Builder& build, int64_t size);

std::span<const OpCard* const> embedding_cards();

}  // namespace laptime
