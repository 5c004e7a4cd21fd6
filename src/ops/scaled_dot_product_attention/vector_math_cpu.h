// Vector arithmetic for softmax: powers of two, maxima and sums of rows, and masks.
#pragma once

#include "ops/scaled_dot_product_attention/call_cpu.h"

namespace laptime::LAPTIME_ISA::attention {

// 2^x for x up to 127, within 1.5 ulp; 0 below 2^-100, NaN for NaN
inline Vector exp2(const Vector& x) {
  constexpr float kSmallest = -100.0F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest whole number in the low bits
  const Vector shifted = x + kRound;
  const Vector r = x - (shifted - kRound);
  // 2^r on [-1/2, 1/2], minimax with relative error 2.2e-8
  Vector power = multiply_add(0.00015594677824992687F, r, Vector{} + 0.0013406643411144614F);
  power = multiply_add(power, r, Vector{} + 0.009617692790925503F);
  power = multiply_add(power, r, Vector{} + 0.055503103882074356F);
  power = multiply_add(power, r, Vector{} + 0.24022652208805084F);
  power = multiply_add(power, r, Vector{} + 0.6931472420692444F);
  power = multiply_add(power, r, Vector{} + 1.0F);
  const Vector y = std::bit_cast<Vector>(std::bit_cast<Bits>(power) + (std::bit_cast<Bits>(shifted) << 23U));
  return x < kSmallest ? Vector{} : y;
}

inline Vector max(const Vector& a, const Vector& b) { return a > b ? a : b; }

namespace detail {
template <int kStep, int... kLane>
inline Vector swapped(const Vector& x, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(x, x, (kLane ^ kStep)...);
}
template <int... kLane>
inline Vector lane_numbers(std::integer_sequence<int, kLane...>) {
  return Vector{static_cast<float>(kLane)...};
}
}  // namespace detail

// Returns the sum of all lanes in every lane.
template <int kStep = kLanes / 2>
inline Vector lane_sum(Vector x) {
  x += detail::swapped<kStep>(x, std::make_integer_sequence<int, kLanes>());
  if constexpr (kStep > 1) x = lane_sum<kStep / 2>(x);
  return x;
}

// Sums along a row use kRowLanes lanes on every instruction set, with element i in lane i % kRowLanes, so that the bits
// of a sum do not depend on the vector width. RowLanes stores these lanes in kRowVectors vectors.
constexpr int kRowLanes = 16;
constexpr size_t kRowVectors = kRowLanes / kLanes;
using RowLanes = std::array<Vector, kRowVectors>;

// Adds lanes pairwise until a single vector is left.
inline Vector folded(RowLanes lanes) {
  for (size_t half = kRowVectors / 2; half > 0; half /= 2) {
    for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

// Dot product of the first `size` elements of two rows.
template <class Left, class Right>
float dot(const Left* left, const Right* right, int64_t size) {
  RowLanes sums{};
  const auto add = [&](const auto* a, const auto* b) {
    for (size_t v = 0; v < kRowVectors; ++v)
      sums[v] = multiply_add(load(a + v * kLanes), load(b + v * kLanes), sums[v]);
  };
  int64_t i = 0;
  for (; i + kRowLanes <= size; i += kRowLanes) add(left + i, right + i);
  if (i < size) {
    alignas(64) std::array<float, kRowLanes> left_rest{};
    alignas(64) std::array<float, kRowLanes> right_rest{};
    for (int64_t k = 0; i + k < size; ++k) {
      left_rest[static_cast<size_t>(k)] = widened(left[i + k]);
      right_rest[static_cast<size_t>(k)] = widened(right[i + k]);
    }
    add(left_rest.data(), right_rest.data());
  }
  return lane_sum(folded(sums))[0];
}

// One vector for each of kLanes rows.
using LaneRows = std::array<Vector, kLanes>;

// Returns the maximum of the lanes of row i in lane i.
inline Vector max_of_rows(LaneRows rows) {
  transpose(rows);
#pragma GCC unroll 4
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (size_t i = 0; i < half; ++i) rows[i] = max(rows[i], rows[i + half]);
  }
  return rows[0];
}
// Returns the sum of the lanes of row i in lane i.
inline Vector sum_of_rows(LaneRows rows) {
  transpose(rows);
#pragma GCC unroll 4
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (size_t i = 0; i < half; ++i) rows[i] += rows[i + half];
  }
  return rows[0];
}

// Returns x in lanes below `count`, and `otherwise` in the others.
inline Vector first_lanes(const Vector& x, int64_t count, float otherwise) {
  const Vector lanes = detail::lane_numbers(std::make_integer_sequence<int, kLanes>());
  return lanes < static_cast<float>(count) ? x : Vector{} + otherwise;
}

}  // namespace laptime::LAPTIME_ISA::attention
