// LoopNest: the axes over which several operands are iterated together. Adjacent axes are merged if every operand
// allows it.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "tensor/layout.h"

namespace laptime {

inline constexpr int kMaxOperands = 8;

// Axis 0 is the outermost; there is at least one axis. Strides and offsets are in elements of their operand.
struct LoopNest {
  int operands = 0;
  int rank = 0;
  std::array<int64_t, kMaxRank> size{};
  std::array<std::array<int64_t, kMaxRank>, kMaxOperands> stride{};  // [operand][axis]
  std::array<int64_t, kMaxOperands> offset{};

  int64_t columns() const { return size[static_cast<size_t>(rank - 1)]; }
  int64_t column_stride(int operand) const {
    return stride[static_cast<size_t>(operand)][static_cast<size_t>(rank - 1)];
  }
  // Stride of the axis above the innermost one; 0 if there is none.
  int64_t row_stride(int operand) const {
    return rank < 2 ? 0 : stride[static_cast<size_t>(operand)][static_cast<size_t>(rank - 2)];
  }
};

// Broadcasts every layout to `shape`. Orders the axes as in the memory of the first layout.
LoopNest memory_order_nest(const Shape& shape, std::span<const Layout* const> layouts);

// Broadcasts every layout to `shape` and keeps the order of the axes, so that positions follow row-major indices.
LoopNest row_major_nest(const Shape& shape, std::span<const Layout* const> layouts);

}  // namespace laptime
