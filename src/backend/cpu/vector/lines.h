// Lines: rows and vectors read and written piece by piece as float32; what the kernels of whole rows share.
#pragma once

#include "backend/cpu/vector/lanes.h"
#include "backend/cpu/vector/strips.h"
#include "backend/cpu/vector/vector_math.h"

namespace laptime::LAPTIME_ISA {

using Piece = std::array<float, kStripSize>;

// body(begin, size) for the pieces of a line.
template <class Body>
void for_pieces(int64_t columns, const Body& body) {
  for (int64_t begin = 0; begin < columns; begin += kStripSize) {
    body(begin, columns - begin < kStripSize ? columns - begin : kStripSize);
  }
}

// A vector [C] or one row of a tensor [..., C].
struct Line {
  const TensorView* tensor;
  int64_t position, stride;
  // Where it stands, or `buffer` filled with it.
  const float* piece(int64_t begin, int64_t size, float* buffer) const {
    return line(*tensor, position + begin * stride, stride, size, buffer);
  }
  float at(int64_t i) const {
    float value = 0;
    load_line(*tensor, position + i * stride, 1, 1, &value);
    return value;
  }
};
inline Line vector_line(const TensorView& tensor) { return {&tensor, tensor.type.layout.offset, tensor.strides()[0]}; }
inline Line row_line(const TensorView& tensor, int64_t position) {
  return {&tensor, position, tensor.strides().back()};
}

// Fills `size` elements of a row of `to` that has no gaps through make(pointer).
template <class Make>
void write_piece(const TensorView& to, int64_t position, int64_t size, const Make& make) {
  if (to.type.dtype == DType::kFloat32) return make(reinterpret_cast<float*>(to.data) + position);
  alignas(64) Piece result;
  make(result.data());
  store_line(result.data(), size, to, position, 1);
}

// Of ids that say which element of each row counts.
inline std::string targets_refusal(const TensorType& targets) {
  if (targets.dtype != DType::kInt64) return "targets are not int64";
  return targets.layout.is_contiguous() ? "" : "targets are not contiguous";
}

// One number of a float32 tensor; nothing is written where the output is absent.
inline float number_at(const TensorView& from, int64_t position) {
  return reinterpret_cast<const float*>(from.data)[position];
}
inline void put_number(float value, const TensorView& to, int64_t position) {
  if (to.data != nullptr) reinterpret_cast<float*>(to.data)[position] = value;
}

// The largest of numbers x and the sum of exp(x - largest). -inf alone gives a sum of zero, NaN gives NaN.
struct ExpSum {
  float largest = -__builtin_inff();
  double total = 0;
};
// Adds a line, read once.
inline void add_line(ExpSum& sum, const Line& x, int64_t columns) {
  alignas(64) Piece buffer;
  for_pieces(columns, [&](int64_t begin, int64_t size) {
    const float* values = x.piece(begin, size, buffer.data());
    const float value = lane_max(values, size);
    if (value > sum.largest) {
      sum.total *= static_cast<double>(exp_f32(sum.largest - value));
      sum.largest = value;
    }
    // Nothing above -inf yet: add zeros (or NaN), not exp(-inf + inf).
    const float shift = sum.largest == -__builtin_inff() ? 0.0F : sum.largest;
    sum.total += static_cast<double>(lane_sum(size, [=](int64_t i) { return exp_f32(values[i] - shift); }));
  });
}
inline ExpSum exp_sum_of(const Line& x, int64_t columns) {
  ExpSum sum;
  add_line(sum, x, columns);
  return sum;
}

// Rows in parts of a fixed number, each with sums of its own: the gradient of what all rows share.
constexpr int64_t kRowsOfPart = 32;
inline int64_t parts_of(int64_t rows) { return (rows + kRowsOfPart - 1) / kRowsOfPart; }

// The sums over all parts, in their order, of elements [begin, begin + size) of each, to a vector without gaps.
inline void add_parts(const float* partial, int64_t parts, int64_t part_size, int64_t begin, int64_t size,
                      const TensorView& to) {
  alignas(64) std::array<double, kStripSize> sums;
  for (int64_t i = 0; i < size; ++i) sums[static_cast<size_t>(i)] = 0;
  for (int64_t part = 0; part < parts; ++part) {
    const float* add = partial + part * part_size + begin;
#pragma omp simd
    for (int64_t i = 0; i < size; ++i) sums[static_cast<size_t>(i)] += static_cast<double>(add[i]);
  }
  alignas(64) Piece rounded;
  for (int64_t i = 0; i < size; ++i) rounded[static_cast<size_t>(i)] = static_cast<float>(sums[static_cast<size_t>(i)]);
  store_line(rounded.data(), size, to, to.type.layout.offset + begin, 1);
}

}  // namespace laptime::LAPTIME_ISA
