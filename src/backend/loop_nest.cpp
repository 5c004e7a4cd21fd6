// Broadcasts, orders and merges the axes of a loop nest.
#include "backend/loop_nest.h"

namespace laptime {
namespace {

// The axes of `shape` whose size is not 1, with each layout broadcast to them.
LoopNest unmerged(const Shape& shape, std::span<const Layout* const> layouts) {
  LAPTIME_CHECK(layouts.size() <= kMaxOperands, "too many operands: {}", layouts.size());
  LoopNest nest;
  nest.operands = static_cast<int>(layouts.size());
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != 1) nest.size[static_cast<size_t>(nest.rank++)] = shape[axis];
  }
  for (size_t k = 0; k < layouts.size(); ++k) {
    const Layout& layout = *layouts[k];
    nest.offset[k] = layout.offset;
    const int lead = shape.rank() - layout.rank();
    size_t to = 0;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == 1) continue;
      const bool broadcast = axis < lead || layout.shape[axis - lead] == 1;
      LAPTIME_CHECK(broadcast || layout.shape[axis - lead] == shape[axis], "cannot broadcast {} to {}",
                    layout.shape.text(), shape.text());
      nest.stride[k][to++] = broadcast ? 0 : layout.strides[axis - lead];
    }
  }
  if (nest.rank == 0) {
    nest.rank = 1;
    nest.size[0] = shape.product();  // 1: the nest has a single element
  }
  return nest;
}

void swap_axes(LoopNest& nest, int a, int b) {
  std::swap(nest.size[static_cast<size_t>(a)], nest.size[static_cast<size_t>(b)]);
  for (auto& stride : nest.stride) std::swap(stride[static_cast<size_t>(a)], stride[static_cast<size_t>(b)]);
}

// Sorts the axes by decreasing stride in operand 0; axes of equal stride keep their order.
void sort_by_first_operand(LoopNest& nest) {
  const auto& stride = nest.stride[0];
  for (int i = 1; i < nest.rank; ++i) {
    for (int k = i; k > 0 && stride[static_cast<size_t>(k - 1)] < stride[static_cast<size_t>(k)]; --k) {
      swap_axes(nest, k - 1, k);
    }
  }
}

// Merges adjacent axes that every operand can iterate over as one axis with a single stride.
void merge(LoopNest& nest) {
  size_t last = 0;
  for (size_t axis = 1; axis < static_cast<size_t>(nest.rank); ++axis) {
    bool merges = true;
    for (size_t k = 0; k < static_cast<size_t>(nest.operands); ++k) {
      merges = merges && nest.stride[k][last] == nest.stride[k][axis] * nest.size[axis];
    }
    if (merges) {
      nest.size[last] *= nest.size[axis];
    } else {
      nest.size[++last] = nest.size[axis];
    }
    for (auto& stride : nest.stride) stride[last] = stride[axis];
  }
  nest.rank = static_cast<int>(last) + 1;
}

}  // namespace

LoopNest memory_order_nest(const Shape& shape, std::span<const Layout* const> layouts) {
  LoopNest nest = unmerged(shape, layouts);
  sort_by_first_operand(nest);
  merge(nest);
  return nest;
}

LoopNest row_major_nest(const Shape& shape, std::span<const Layout* const> layouts) {
  LoopNest nest = unmerged(shape, layouts);
  merge(nest);
  return nest;
}

}  // namespace laptime
