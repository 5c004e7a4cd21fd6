// Converts tensor views to the axes over which CUDA kernels iterate. Adjacent axes are merged if the layouts allow it.
#pragma once

#include <algorithm>
#include <span>

#include "backend/cuda/map_elements.h"
#include "backend/cuda/queue.h"
#include "backend/cuda/row_sums.h"
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

// True if the address is a multiple of the size of four elements.
inline bool starts_at_a_four(const DeviceData& data) {
  return reinterpret_cast<uintptr_t>(data.data) % (kFour * size_of(data.dtype)) == 0;
}
// True if four elements can be moved with one access at every position that is a multiple of four.
inline bool is_aligned_for_fours(const DeviceData& data) { return moves_fours(data.dtype) && starts_at_a_four(data); }

// True if 16 bytes can be moved with one access at every offset that is a multiple of 16 bytes.
inline bool is_aligned_for_words(const DeviceData& data) {
  return moves_fours(data.dtype) && reinterpret_cast<uintptr_t>(data.data) % kWordsBytes == 0;
}

// True if the columns of every row can be moved in groups of four, with one access each. This and the other functions
// on rows return true for an absent operand.
inline bool has_rows_in_fours(const DeviceRows& rows) {
  if (rows.data == nullptr) return true;
  bool whole = is_aligned_for_fours(rows) && rows.column_stride == 1;
  for (int axis = 0; axis < rows.walk.rank; ++axis) whole = whole && rows.walk.stride[0][axis] % kFour == 0;
  return whole;
}
// True if a single row can be moved in fours.
inline bool is_row_in_fours(const DeviceData& row, int64_t column_stride) {
  return row.data == nullptr || (is_aligned_for_fours(row) && column_stride == 1);
}
// True if the rows of a contiguous tensor with `columns` columns can be moved in fours.
inline bool has_rows_in_fours(const DeviceData& data, int64_t columns) {
  return data.data == nullptr || (is_aligned_for_fours(data) && columns % kFour == 0);
}

// True if a single row whose length is a multiple of eight can be moved in eights.
inline bool is_row_in_eights(const DeviceData& row, int64_t column_stride) {
  return row.data == nullptr || (is_aligned_for_words(row) && column_stride == 1);
}
// True if the columns of every row can be moved in eights.
inline bool has_rows_in_eights(const DeviceRows& rows, int64_t columns) {
  if (rows.data == nullptr) return true;
  bool whole = is_row_in_eights(rows, rows.column_stride) && columns % kEight == 0;
  for (int axis = 0; axis < rows.walk.rank; ++axis) whole = whole && rows.walk.stride[0][axis] % kEight == 0;
  return whole;
}
// True if the columns of every row can be moved in eights, and the row stride is constant.
inline bool has_rows_in_packs(const DeviceRows& rows, int64_t columns) {
  return rows.data == nullptr || (has_rows_in_eights(rows, columns) && rows.walk.rank <= 1);
}

// True if element i is at position i in each of the first `present` operands.
template <int kOperands>
bool are_contiguous(const Elements<kOperands>& elements, int present) {
  if (elements.walk.rank > 1) return false;
  for (int k = 0; k < present; ++k) {
    if (elements.walk.rank == 1 && elements.count > 1 && elements.walk.stride[k][0] != 1) return false;
  }
  return true;
}

// Returns the groups in which the first `present` operands can be moved.
template <int kOperands>
Groups groups_of(const Elements<kOperands>& elements, int present) {
  if (!are_contiguous(elements, present)) return Groups::kNone;
  int of_float32 = 0;
  int of_bfloat16 = 0;
  for (int k = 0; k < present; ++k) {
    const DeviceData& data = elements.operand[k];
    if (data.data == nullptr || !is_aligned_for_words(data)) return Groups::kNone;
    of_float32 += data.dtype == DType::kFloat32 ? 1 : 0;
    of_bfloat16 += data.dtype == DType::kBFloat16 ? 1 : 0;
  }
  if (of_float32 == present) return Groups::kFoursOfFloat32;
  if (of_bfloat16 == present) return Groups::kEightsOfBFloat16;
  return of_float32 == 0 ? Groups::kEights : Groups::kFours;
}

// True if each of the first `present` operands can be moved in fours along the last axis of the walk. An input, which
// is any operand but the first, may be bool, or may repeat one element along this axis, as a broadcast column does.
template <int kOperands>
bool walks_in_fours(const Elements<kOperands>& elements, int present) {
  const int last = elements.walk.rank - 1;
  if (last < 0 || elements.walk.size[last] % kFour != 0) return false;
  for (int k = 0; k < present; ++k) {
    const DeviceData& data = elements.operand[k];
    const auto& stride = elements.walk.stride[k];
    if (k > 0 && stride[last] == 0) continue;
    const bool moves = moves_fours(data.dtype) || (k > 0 && data.dtype == DType::kBool);
    if (!moves || !starts_at_a_four(data) || stride[last] != 1) return false;
    if (std::any_of(stride, stride + last, [](int64_t of_axis) { return of_axis % kFour != 0; })) return false;
  }
  return true;
}

// Outputs come first, then inputs. All are broadcast to the shape of output 0; the axes are in the memory order of
// output 0.
template <int kOperands>
Elements<kOperands> elements_of_call(std::span<const TensorView> out, std::span<const TensorView> in) {
  LAPTIME_CHECK(out.size() + in.size() <= kOperands, "too many operands: {}", out.size() + in.size());
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
  elements.groups = groups_of(elements, static_cast<int>(out.size() + in.size()));
  return elements;
}

// The number of threads for `groups` groups. If the GPU can run a thread for every group at the same time, each thread
// takes one group; otherwise each thread takes up to `in_flight` groups.
inline int64_t threads_for_groups(int64_t groups, int in_flight) {
  constexpr int64_t kResident = int64_t{1} << 18;
  return groups <= kResident ? groups : std::max(kResident, (groups + in_flight - 1) / in_flight);
}

// The number of threads to launch. Each thread takes one or more groups or, if there are no groups, one element.
template <int kOperands>
int64_t mapped_threads(const Elements<kOperands>& elements) {
  if (elements.groups == Groups::kNone) return elements.count;
  const int64_t size = group_size(elements.groups);
  return threads_for_groups((elements.count + size - 1) / size, groups_in_flight(kOperands));
}
template <class K, int kOperands>
void launch_mapped(const KernelCall& call, const Elements<kOperands>& elements, const typename K::Args& args) {
  launch_elements<K>(call, mapped_threads(elements), args);
}
template <class K>
void launch_mapped(const KernelCall& call, const typename K::Args& elements) {
  launch_mapped<K>(call, elements, elements);
}

// Describes the view as rows [..., columns]. A tensor without axes is one row with one column.
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

// Describes all elements in row-major order, with one element per row.
inline DeviceRows flat_of(const TensorView& view) {
  DeviceRows rows;
  static_cast<DeviceData&>(rows) = device_data(view);
  const Layout* layouts[] = {&view.type.layout};
  rows.walk = walk_of<1>(row_major_nest(view.shape(), layouts));
  return rows;
}

}  // namespace laptime::cuda
