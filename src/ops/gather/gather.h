// Gather and scatter of one element per row.
#pragma once

#include "graph/builder.h"

namespace laptime {

// (x [..., C], index int64 [..., 1]) -> [..., 1]: the element of x at the index of each row
extern const OpCard kGather;
// (grad [..., 1], x [..., C] only for its shape and type, index [..., 1]) -> [..., C]: grad at the index, zero
// elsewhere
extern const OpCard kGatherBackward;
// (grad [..., 1], index [..., 1]) -> [..., size]: grad at the index, zero elsewhere
extern const OpCard kScatter;

struct ScatterAttributes {
  int64_t size = 0;  // size of the last axis
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("size", self.size);
  }
};

ValueId gather(Builder& build, ValueId x, ValueId index);
ValueId scatter(Builder& build, ValueId grad, ValueId index, int64_t size);

std::span<const OpCard* const> gather_cards();

}  // namespace laptime
