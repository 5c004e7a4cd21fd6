// From tensor views to what CUDA kernels walk: adjacent axes are merged where the layouts allow.
#pragma once

#include <span>

#include "backend/cuda/queue.h"
#include "backend/loop_nest.h"

namespace laptime::cuda {

template <int kOperands>
Walk<kOperands> walk_of(const LoopNest& nest) {
  Walk<kOperands> walk;
  walk.rank = nest.rank;
  for (int axis = 0; axis < nest.rank; ++axis) {
    walk.size[axis] = nest.size[static_cast<size_t>(axis)];
    for (int k = 0; k < kOperands; ++k)
      walk.stride[k][axis] = nest.stride[static_cast<size_t>(k)][static_cast<size_t>(axis)];
  }
  return walk;
}

// Outputs first, then inputs, all broadcast to the shape of output 0 and walked in its memory order.
template <int kOperands>
Elements<kOperands> elements_of_call(std::span<const TensorView> out, std::span<const TensorView> in) {
  LAPTIME_CHECK(out.size() + in.size() <= kOperands, "{} operands", out.size() + in.size());
  Elements<kOperands> elements;
  const Layout* layouts[kOperands];
  size_t k = 0;
  for (const std::span<const TensorView> views : {out, in}) {
    for (const TensorView& view : views) {
      elements.operand[k] = device_data(view);
      layouts[k++] = &view.type.layout;
    }
  }
  while (k < kOperands) layouts[k++] = layouts[0];
  elements.walk = walk_of<kOperands>(memory_order_nest(out[0].shape(), layouts));
  elements.count = out[0].numel();
  return elements;
}

// [..., columns]; a tensor without axes is one row of one column.
inline DeviceRows rows_of(const TensorView& view) {
  DeviceRows rows;
  static_cast<DeviceData&>(rows) = device_data(view);
  Layout leading = view.type.layout;
  if (leading.rank() > 0) {
    rows.column_stride = leading.strides.back();
    leading.shape.erase(leading.rank() - 1);
    leading.strides.erase(leading.strides.rank() - 1);
  }
  const Layout* layouts[] = {&leading};
  rows.walk = walk_of<1>(row_major_nest(leading.shape, layouts));
  return rows;
}
inline int64_t columns_of(const TensorView& view) { return view.shape().empty() ? 1 : view.shape().back(); }
inline int64_t row_count(const TensorView& view) { return view.numel() / columns_of(view); }

// All elements in row-major order: a row per element.
inline DeviceRows flat_of(const TensorView& view) {
  DeviceRows rows;
  static_cast<DeviceData&>(rows) = device_data(view);
  const Layout* layouts[] = {&view.type.layout};
  rows.walk = walk_of<1>(row_major_nest(view.shape(), layouts));
  return rows;
}

}  // namespace laptime::cuda
