// Stack and concat: join two tensors along a new axis, or along an existing one.
#pragma once

#include "graph/builder.h"

namespace laptime {

// (a [...], b [...]) -> contiguous [..., 2, ...], where the new axis is `axis`
extern const OpCard kStack;
// (a [..., m, ...], b [..., n, ...]) -> contiguous [..., m + n, ...], joined along `axis`; all other axes must be equal
extern const OpCard kConcat;

struct StackAttributes {
  int axis = 0;  // axis of the result, not negative
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("axis", self.axis);
  }
};

struct ConcatAttributes {
  int axis = 0;  // axis of the result and of the inputs, not negative
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("axis", self.axis);
  }
};

// A negative axis counts from the end of the result's axes.
ValueId stack(Builder& build, ValueId a, ValueId b, int axis);
ValueId concat(Builder& build, ValueId a, ValueId b, int axis);

// The part of the result of kStack, or of kConcat, that contains input `which`.
TensorView stacked_part(const Attributes& attributes, const TensorView& result, size_t which);
TensorView concatenated_part(const Attributes& attributes, std::span<const TensorView> in, const TensorView& result,
                             size_t which);

std::span<const OpCard* const> stack_cards();

}  // namespace laptime
