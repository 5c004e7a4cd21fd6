// Reductions along axes: sum, mean, and max with its index.
#pragma once

#include "graph/builder.h"

namespace laptime {

// Sum over a set of axes, which remain with size 1; accumulated in float32 or wider.
extern const OpCard kSum;
// Mean over a set of axes, which remain with size 1.
extern const OpCard kMean;
// x [..., C] -> (values [..., 1], indices int64 [..., 1]): the maximum of each row and its first index. NaN counts as
// the maximum.
extern const OpCard kMax;

struct AxesAttributes {
  Dims axes;  // ascending, not negative
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("axes", self.axes);
  }
};

ValueId sum(Builder& build, ValueId x, const Dims& axes);
ValueId mean(Builder& build, ValueId x, const Dims& axes);
ValueId sum_all(Builder& build, ValueId x);                // shape []
ValueId mean_all(Builder& build, ValueId x);               // shape []
std::vector<ValueId> max_last(Builder& build, ValueId x);  // {values, indices}

std::span<const OpCard* const> reduce_cards();

}  // namespace laptime
