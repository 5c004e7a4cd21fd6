// Rows and vectors of tensors, read and written as float32 in chunks, and reductions shared by kernels that process
// whole rows.
#pragma once

#include "backend/cpu/vector/lanes.h"
#include "backend/cpu/vector/strips.h"
#include "backend/cpu/vector/vector_math.h"
#include "base/checked.h"

namespace laptime::LAPTIME_ISA {

// Buffer for one chunk of a row.
using ChunkBuffer = std::array<float, kStripSize>;

// Calls body(begin, size) for the chunks of a row of `columns` elements, in order.
template <class Body>
void for_chunks(int64_t columns, const Body& body) {
  for (int64_t begin = 0; begin < columns; begin += kStripSize) {
    body(begin, columns - begin < kStripSize ? columns - begin : kStripSize);
  }
}

// A vector [C], or one row of a tensor [..., C].
struct RowView {
  const TensorView* tensor;
  int64_t position, stride;  // position of the first element, and stride, in elements
  // Returns the elements in memory if they are contiguous float32, otherwise copies them to `buffer` as float32.
  const float* chunk(int64_t begin, int64_t size, float* buffer) const {
    return float_elements(*tensor, position + begin * stride, stride, size, buffer);
  }
  float at(int64_t i) const {
    float value = 0;
    load_elements(*tensor, position + i * stride, 1, 1, &value);
    return value;
  }
};
inline RowView vector_view(const TensorView& tensor) {
  return {&tensor, tensor.type.layout.offset, tensor.strides()[0]};
}
inline RowView row_view(const TensorView& tensor, int64_t position) {
  return {&tensor, position, tensor.strides().back()};
}

// Calls make(pointer) to compute `size` float32 elements, and writes them to a contiguous row of `to`, starting at
// `position`, rounded if `to` has another type.
template <class Make>
void write_chunk(const TensorView& to, int64_t position, int64_t size, const Make& make) {
  if (to.type.dtype == DType::kFloat32) return make(reinterpret_cast<float*>(to.data) + position);
  alignas(64) ChunkBuffer result;
  make(result.data());
  store_elements(result.data(), size, to, position, 1);
}

// Returns an empty string if a kernel can read these targets, one class id per row, otherwise the reason why not.
inline std::string targets_refusal(const TensorType& targets) {
  if (targets.dtype != DType::kInt64) return "targets are not int64";
  return targets.layout.is_contiguous() ? "" : "targets are not contiguous";
}

inline float float_at(const TensorView& from, int64_t position) {
  return reinterpret_cast<const float*>(from.data)[position];
}
// Stores a float; has no effect if the output is absent.
inline void put_float(float value, const TensorView& to, int64_t position) {
  if (to.data != nullptr) reinterpret_cast<float*>(to.data)[position] = value;
}

// The largest of the numbers x and the sum of exp(x - largest), accumulated online. If all x are -inf, the sum is zero;
// if one is NaN, the sum is NaN.
struct ExpSum {
  float largest = -__builtin_inff();
  double total = 0;
};
// Adds the elements of a row in one pass.
inline void add_row(ExpSum& sum, const RowView& x, int64_t columns) {
  alignas(64) ChunkBuffer buffer;
  for_chunks(columns, [&](int64_t begin, int64_t size) {
    const float* values = x.chunk(begin, size, buffer.data());
    const float value = lane_max(values, size);
    if (value > sum.largest) {
      sum.total *= static_cast<double>(exp_f32(sum.largest - value));
      sum.largest = value;
    }
    // While all elements are -inf, adds exp(-inf) = 0 rather than exp(-inf + inf), which is NaN.
    const float shift = sum.largest == -__builtin_inff() ? 0.0F : sum.largest;
    sum.total += static_cast<double>(lane_sum(size, [=](int64_t i) { return exp_f32(values[i] - shift); }));
  });
}
inline ExpSum row_exp_sum(const RowView& x, int64_t columns) {
  ExpSum sum;
  add_row(sum, x, columns);
  return sum;
}

// A gradient that is a sum over all rows is computed in two stages: threads sum parts of kRowsPerPart rows each, and
// then sum_parts adds the parts.
constexpr int64_t kRowsPerPart = 32;
inline int64_t part_count(int64_t rows) { return ceil_div(rows, kRowsPerPart); }

// Adds elements [begin, begin + size) of all parts, in the order of the parts, and writes the sums to a contiguous
// vector.
inline void sum_parts(const float* partial, int64_t parts, int64_t part_size, int64_t begin, int64_t size,
                      const TensorView& to) {
  alignas(64) std::array<double, kStripSize> sums;
  for (int64_t i = 0; i < size; ++i) sums[static_cast<size_t>(i)] = 0;
  for (int64_t part = 0; part < parts; ++part) {
    const float* add = partial + part * part_size + begin;
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) sums[static_cast<size_t>(i)] += static_cast<double>(add[i]);
  }
  alignas(64) ChunkBuffer rounded;
  for (int64_t i = 0; i < size; ++i) rounded[static_cast<size_t>(i)] = static_cast<float>(sums[static_cast<size_t>(i)]);
  store_elements(rounded.data(), size, to, to.type.layout.offset + begin, 1);
}

}  // namespace laptime::LAPTIME_ISA
