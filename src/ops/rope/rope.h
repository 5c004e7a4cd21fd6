// Rotary position embedding (Su et al. 2021): pairs (2i, 2i+1) of a head turned by position.
#pragma once

#include "graph/builder.h"

namespace laptime {

// Where the turned pairs are written: in place (2i, 2i+1), or first components in one half and second in the other.
enum class RopeForm : uint8_t { kInterleaved, kHalves };
const char* name_of(RopeForm form);

// () -> (cos, sin), [T, d_head / 2]: angle = t theta^(-2i / d_head)
extern const OpCard kRopeTable;
// (x [..., T, d_head], cos, sin) -> [..., T, d_head]; the axes stand in memory as those of x do
extern const OpCard kRope;
// (grad_y [..., T, d_head], cos, sin) -> grad_x: the turn the other way, back into pairs
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
  std::optional<DType> y_dtype{};  // of the output; nothing: the wider of the input's and the table's
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
