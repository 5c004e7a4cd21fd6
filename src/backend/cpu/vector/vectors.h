// Registers of float32 as a type: loads, stores, widening and the transposition of a square of them.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "backend/cpu/vector/convert.h"

namespace laptime::LAPTIME_ISA {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
constexpr int kRegisters = 32;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
constexpr int kRegisters = 16;
#else
constexpr int kLanes = 4;
constexpr int kRegisters = 16;
#endif

// kLanes elements; arithmetic and shifts are lane by lane.
using Vector = float __attribute__((vector_size(kLanes * 4)));
using Bits = uint32_t __attribute__((vector_size(kLanes * 4)));
using HalfBits = uint16_t __attribute__((vector_size(kLanes * 2)));

inline Vector load(const float* from) {
  Vector value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}
inline Vector load(const Brain* from) {
  HalfBits narrow;
  std::memcpy(&narrow, from, sizeof(narrow));
  const Bits wide = __builtin_convertvector(narrow, Bits) << 16U;
  Vector value;
  std::memcpy(&value, &wide, sizeof(value));
  return value;
}
inline void store(float* to, const Vector& value) { std::memcpy(to, &value, sizeof(value)); }

namespace detail {

// Lanes of two rows `kStep` apart: what stands right of the diagonal of each 2 kStep square changes places with what
// stands left of it.
template <int kStep, int... kLane>
inline void exchange(Vector& upper, Vector& lower, std::integer_sequence<int, kLane...>) {
  const Vector above = upper;
  const Vector below = lower;
  upper = __builtin_shufflevector(above, below, ((kLane & kStep) == 0 ? kLane : kLanes + kLane - kStep)...);
  lower = __builtin_shufflevector(above, below, ((kLane & kStep) == 0 ? kLane + kStep : kLanes + kLane)...);
}

template <int kStep>
inline void transpose_steps(std::array<Vector, kLanes>& rows) {
#pragma GCC unroll 16
  for (size_t row = 0; row < kLanes; ++row) {
    if ((row & size_t{kStep}) == 0) {
      exchange<kStep>(rows[row], rows[row + size_t{kStep}], std::make_integer_sequence<int, kLanes>());
    }
  }
  if constexpr (kStep > 1) transpose_steps<kStep / 2>(rows);
}

}  // namespace detail

// rows[i][j] -> rows[j][i]
inline void transpose(std::array<Vector, kLanes>& rows) { detail::transpose_steps<kLanes / 2>(rows); }

}  // namespace laptime::LAPTIME_ISA
