// Structural ops: views, the gradient of a slice, contiguous, cast, fill, assign, and the symbolic gradients.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/builder.h"

namespace laptime {

extern const OpCard kReshape, kPermute, kExpand, kSlice;  // views
extern const OpCard kContiguous, kCast, kFill, kAssign;   // copies
// (grad[, addend]) -> the gradient of the tensor that was sliced: grad inside the slice and 0 elsewhere, plus the
// addend
extern const OpCard kSliceBackward;
// Symbolic: (loss, parameters...[, earlier gradients...]) -> the gradient of each parameter, added to the parameter's
// earlier gradient if there is one.
extern const OpCard kGradients;

struct ReshapeAttributes {
  Shape shape;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("shape", self.shape);
  }
};
struct PermuteAttributes {
  Dims axes;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("axes", self.axes);
  }
};
struct SliceAttributes {
  int axis = 0;
  int64_t begin = 0, size = 0, step = 1;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("axis", self.axis);
    visit("begin", self.begin);
    visit("size", self.size);
    visit("step", self.step);
  }
};
struct SliceBackwardAttributes {
  Shape shape;  // shape of the tensor that was sliced
  int axis = 0;
  int64_t begin = 0, step = 1;
  bool addend = false;
  std::optional<DType> output{};  // type of the result; none: the type of grad
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("shape", self.shape);
    visit("axis", self.axis);
    visit("begin", self.begin);
    visit("step", self.step);
    if (self.addend) visit("addend", self.addend);
    if (self.output) visit("output", *self.output);
  }
};
struct GradientsAttributes {
  int64_t count = 0;  // number of parameters
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("count", self.count);
  }
};
struct CastAttributes {
  DType dtype = DType::kFloat32;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("dtype", self.dtype);
  }
};
struct FillAttributes {
  Shape shape;
  double value = 0;
  DType dtype = DType::kFloat32;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("shape", self.shape);
    visit("value", self.value);
    visit("dtype", self.dtype);
  }
};

std::span<const OpCard* const> structural_cards();

ValueId reshape(Builder& build, ValueId x, const Shape& shape);
ValueId permute(Builder& build, ValueId x, const Dims& axes);
ValueId transpose(Builder& build, ValueId x, int axis_a, int axis_b);  // negative axes count from the end
ValueId expand(Builder& build, ValueId x, const Shape& shape);
ValueId slice(Builder& build, ValueId x, int axis, int64_t begin, int64_t size, int64_t step = 1);
ValueId contiguous(Builder& build, ValueId x);                                // returns x if x is already contiguous
ValueId cast(Builder& build, ValueId x, DType dtype);                         // returns x if x already has this type
ValueId fill(Builder& build, const Shape& shape, double value, DType dtype);  // computed in every step, not a constant
ValueId assign(Builder& build, ValueId state, ValueId value);                 // returns the state's next value
// `earlier` is empty, or contains one gradient for each parameter. Sums start from `earlier`: each contribution to a
// parameter's gradient is added as soon as that contribution is computed.
std::vector<ValueId> gradients(Builder& build, ValueId loss, std::span<const ValueId> parameters,
                               std::span<const ValueId> earlier = {});

}  // namespace laptime
