// Sum, maximum and argmax of contiguous elements in a fixed number of lanes, so that the order of additions, and thus
// every bit of a sum, is the same for any vector length.
#pragma once

#include "backend/cpu/isa_namespace.h"

namespace laptime::LAPTIME_ISA {

constexpr int64_t kSumLanes = 64;

// Sum of term(i) for i in [0, size). Term i is added to lane i % kSumLanes. Then the upper half of the lanes is added
// to the lower half, until one lane is left.
template <class Term>
[[gnu::always_inline]] inline float lane_sum(int64_t size, Term term) {
  float lanes[kSumLanes] = {};
  int64_t begin = 0;
  for (; begin + kSumLanes <= size; begin += kSumLanes) {
#pragma omp simd
    for (int64_t i = 0; i < kSumLanes; ++i) lanes[i] += term(begin + i);
  }
  for (int64_t i = 0; i < size - begin; ++i) lanes[i] += term(begin + i);
#pragma GCC unroll 6
  for (int64_t half = kSumLanes / 2; half > 0; half /= 2) {
#pragma omp simd
    for (int64_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  }
  return lanes[0];
}

// The largest element of x, ignoring NaN; -inf if there is none.
inline float lane_max(const float* x, int64_t size) {
  float lanes[kSumLanes];
  for (float& lane : lanes) lane = -__builtin_inff();
  int64_t begin = 0;
  for (; begin + kSumLanes <= size; begin += kSumLanes) {
#pragma omp simd
    for (int64_t i = 0; i < kSumLanes; ++i) lanes[i] = x[begin + i] > lanes[i] ? x[begin + i] : lanes[i];
  }
  for (int64_t i = 0; i < size - begin; ++i) lanes[i] = x[begin + i] > lanes[i] ? x[begin + i] : lanes[i];
#pragma GCC unroll 6
  for (int64_t half = kSumLanes / 2; half > 0; half /= 2) {
#pragma omp simd
    for (int64_t i = 0; i < half; ++i) lanes[i] = lanes[i + half] > lanes[i] ? lanes[i + half] : lanes[i];
  }
  return lanes[0];
}

// The index of the first NaN in x or, if there is none, of the first largest element. `size` is at least 1 and below
// 2^31.
inline int32_t lane_argmax(const float* x, int64_t size) {
  const float largest = lane_max(x, size);
  int32_t at = INT32_MAX;
  int32_t nan = INT32_MAX;
#pragma omp simd reduction(min : at, nan)
  for (int32_t i = 0; i < static_cast<int32_t>(size); ++i) {
    const int32_t largest_at = x[i] == largest ? i : INT32_MAX;
    const int32_t nan_at = x[i] != x[i] ? i : INT32_MAX;
    at = largest_at < at ? largest_at : at;
    nan = nan_at < nan ? nan_at : nan;
  }
  return nan != INT32_MAX ? nan : at;
}

}  // namespace laptime::LAPTIME_ISA
