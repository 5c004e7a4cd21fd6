// Rotary position embedding (Su et al. 2021): each pair (x1, x2) = (2i, 2i + 1) of a head is rotated by an angle that
// grows with the position: (cos x1 - sin x2, sin x1 + cos x2).
#pragma once

#include "graph/builder.h"

namespace laptime {

// Position of a rotated pair: (2i, 2i + 1), or (i, d_head / 2 + i) with first components in one half of the row and
// second ones in the other.
enum class RopeForm : uint8_t { kInterleaved, kHalves };
const char* name_of(RopeForm form);

// () -> (cos [T, d_head / 2], sin [T, d_head / 2]) of the angles t theta^(-2i / d_head)
extern const OpCard kRopeTable;
// (x [..., T, d_head], cos [T, d_head / 2], sin [T, d_head / 2]) -> y [..., T, d_head] in the memory order of x
extern const OpCard kRope;
// (grad_y [..., T, d_head], cos, sin) -> grad_x [..., T, d_head]: the inverse rotation, back into pairs (2i, 2i + 1)
extern const OpCard kRopeBackward;

struct RopeTableAttributes {
  int64_t context_length = 0;
  int64_t d_head = 0;
  double theta = 10000;
  DType dtype = DType::kFloat32;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("context_length", self.context_length);
    visit("d_head", self.d_head);
    visit("theta", self.theta);
    visit("dtype", self.dtype);
  }
};
struct RopeAttributes {
  RopeForm form = RopeForm::kInterleaved;
  std::optional<DType> y_dtype{};  // absent: the promoted type of x and the tables
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("form", self.form);
    visit("y_dtype", self.y_dtype);
  }
};

struct RopeTable {
  ValueId cos, sin;
};
RopeTable rope_table(Builder& build, int64_t context_length, int64_t d_head, double theta, DType dtype);
ValueId rope(Builder& build, ValueId x, const RopeTable& table, RopeForm form);

std::span<const OpCard* const> rope_cards();

}  // namespace laptime
