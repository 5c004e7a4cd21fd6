// Rotary position embedding (Su et al. 2021): each pair (x1, x2) in a head is rotated by an angle that grows with the
// position: (x1 cos - x2 sin, x1 sin + x2 cos).
#pragma once

#include "graph/builder.h"
#include "ops/rope/rotation.h"

namespace laptime {

const char* name_of(RopeForm form);

// () -> (cos [T, n / 2], sin [T, n / 2]) of the angles t f_i at position t, where f_i is theta^(-2i / n) after
// scaling. If `repeated`, the tables have n columns, and the second half equals the first.
extern const OpCard kRopeTable;
// (x [..., T, d_head], cos, sin) -> y [..., T, d_head] in the memory order of x; the tables of kRotateHalf are repeated
extern const OpCard kRope;
// (grad_y [..., T, d_head], cos, sin) -> grad_x [..., T, d_head]: the inverse rotation, written to the positions of the
// pairs in x
extern const OpCard kRopeBackward;

struct RopeTableAttributes {
  int64_t context_length = 0;
  int64_t d_head = 0;  // n
  double theta = 10000;
  DType dtype = DType::kFloat32;
  bool repeated = false;
  RopeScaling scaling = {};
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("context_length", self.context_length);
    visit("d_head", self.d_head);
    visit("theta", self.theta);
    visit("dtype", self.dtype);
    visit("repeated", self.repeated);
    visit("factor", self.scaling.factor);
    visit("low_factor", self.scaling.low_factor);
    visit("high_factor", self.scaling.high_factor);
    visit("original_context", self.scaling.original_context);
  }
};
struct RopeAttributes {
  RopeForm form = RopeForm::kInterleaved;
  std::optional<DType> y_dtype{};  // if absent, the promoted type of x and the tables
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("form", self.form);
    visit("y_dtype", self.y_dtype);
  }
};

struct RopeTable {
  ValueId cos, sin;
};
RopeTable rope_table(Builder& build, const RopeTableAttributes& attributes);
ValueId rope(Builder& build, ValueId x, const RopeTable& table, RopeForm form);

std::span<const OpCard* const> rope_cards();

}  // namespace laptime
