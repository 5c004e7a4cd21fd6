// Arithmetic on vectors that softmax needs: powers of two, maxima and sums of rows, masks.
#pragma once

#include "ops/scaled_dot_product_attention/call_cpu.h"

namespace laptime::LAPTIME_ISA::attention {

// 2^x for x up to 127, within 1.5 ulp; 0 below 2^-100, NaN for NaN.
inline Vector exp2(const Vector& x) {
  constexpr float kSmallest = -100.0F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest whole number in the low bits
  const Vector shifted = x + kRound;
  const Vector r = x - (shifted - kRound);
  // 2^r on [-1/2, 1/2], minimax with relative error 2.2e-8
  Vector power = r * 0.00015594677824992687F + 0.0013406643411144614F;
  power = power * r + 0.009617692790925503F;
  power = power * r + 0.055503103882074356F;
  power = power * r + 0.24022652208805084F;
  power = power * r + 0.6931472420692444F;
  power = power * r + 1.0F;
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

// Every lane becomes the sum of all lanes.
template <int kStep = kLanes / 2>
inline Vector lane_sum(Vector x) {
  x += detail::swapped<kStep>(x, std::make_integer_sequence<int, kLanes>());
  if constexpr (kStep > 1) x = lane_sum<kStep / 2>(x);
  return x;
}

// Dot product of the first `size` elements of two rows.
template <class Left, class Right>
float dot(const Left* left, const Right* right, int64_t size) {
  Vector sum{};
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) sum += load(left + i) * load(right + i);
  float rest = 0;
  for (; i < size; ++i) rest += widened(left[i]) * widened(right[i]);
  return lane_sum(sum)[0] + rest;
}

// One vector for each of kLanes rows.
using LaneRows = std::array<Vector, kLanes>;

// Lane i becomes the maximum of the lanes of row i.
inline Vector max_of_rows(LaneRows rows) {
  transpose(rows);
#pragma GCC unroll 4
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (size_t i = 0; i < half; ++i) rows[i] = max(rows[i], rows[i + half]);
  }
  return rows[0];
}
// Lane i becomes the sum of the lanes of row i.
inline Vector sum_of_rows(LaneRows rows) {
  transpose(rows);
#pragma GCC unroll 4
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (size_t i = 0; i < half; ++i) rows[i] += rows[i + half];
  }
  return rows[0];
}

// x in lanes below `count`, else `otherwise`.
inline Vector first_lanes(const Vector& x, int64_t count, float otherwise) {
  const Vector lanes = detail::lane_numbers(std::make_integer_sequence<int, kLanes>());
  return lanes < static_cast<float>(count) ? x : Vector{} + otherwise;
}

}  // namespace laptime::LAPTIME_ISA::attention
