// Stack: two tensors side by side along a new axis.
#pragma once

#include "graph/builder.h"

namespace laptime {

// (a [...], b [...]) -> [..., 2 at `axis`, ...], contiguous.
extern const OpCard kStack;

struct StackAttributes {
  int axis = 0;  // of the result; not negative
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("axis", self.axis);
  }
};

ValueId stack(Builder& build, ValueId a, ValueId b, int axis);  // a negative axis counts from the result's end

std::span<const OpCard* const> stack_cards();

}  // namespace laptime
