// Vector, one register of float32: loads and stores with conversion from and to the 16-bit floating types, and
// transposition of kLanes x kLanes elements.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__FMA__)
#include <immintrin.h>
#endif

#include "backend/cpu/vector/convert.h"
#include "backend/cpu/vector/multiply_add.h"

namespace laptime::LAPTIME_ISA {

#if defined(LAPTIME_LANES)  // tests define LAPTIME_LANES to check vector widths that differ from the instruction set's
constexpr int kLanes = LAPTIME_LANES;
constexpr int kRegisters = LAPTIME_LANES == 16 ? 32 : 16;
#elif defined(__AVX512F__)
constexpr int kLanes = 16;
constexpr int kRegisters = 32;
#elif defined(__AVX2__)
constexpr int kLanes = 8;
constexpr int kRegisters = 16;
#else
constexpr int kLanes = 4;
constexpr int kRegisters = 16;
#endif

// Vectors of kLanes elements; arithmetic, comparisons and shifts work lane by lane.
using Vector = float __attribute__((vector_size(kLanes * 4)));
using Bits = uint32_t __attribute__((vector_size(kLanes * 4)));
using HalfBits = uint16_t __attribute__((vector_size(kLanes * 2)));

// Rounds each lane to bfloat16, to nearest even; the result is in the upper half of the lane's 32 bits. NaN stays NaN.
inline Bits rounded_bits(const Vector& value) {
  const Bits wide = std::bit_cast<Bits>(value);
  const Bits rounded = wide + 0x7FFFU + ((wide >> 16U) & 1U);
  return (value != value ? wide | 0x400000U : rounded) & 0xFFFF0000U;
}

// Computes a b + c lane by lane, like multiply_add for one float.
[[gnu::always_inline]] inline Vector multiply_add(const Vector& a, const Vector& b, const Vector& c) {
#if defined(LAPTIME_LANES)
  Vector sums;
  for (int i = 0; i < kLanes; ++i) sums[i] = multiply_add(a[i], b[i], c[i]);
  return sums;
#elif defined(__AVX512F__)
  return (Vector)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__FMA__)
  return (Vector)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  return a * b + c;
#endif
}
// Converts `a` to a vector by subtracting zero, which changes no number, so the compiler omits the subtraction. Adding
// zero would turn -0 into 0 and cost an instruction.
[[gnu::always_inline]] inline Vector multiply_add(float a, const Vector& b, const Vector& c) {
  return multiply_add(a - Vector{}, b, c);
}

// Loads and stores need no alignment.
inline Vector load(const float* from) {
  Vector value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}
inline Vector load(const BFloat16* from) {
  HalfBits narrow;
  std::memcpy(&narrow, from, sizeof(narrow));
  return std::bit_cast<Vector>(__builtin_convertvector(narrow, Bits) << 16U);
}
inline Vector load(const RoundedTo<BFloat16>* from) { return std::bit_cast<Vector>(rounded_bits(load(&from->value))); }
inline void store(float* to, const Vector& value) { std::memcpy(to, &value, sizeof(value)); }
inline void store(BFloat16* to, const Vector& value) {
  const HalfBits narrow = __builtin_convertvector(rounded_bits(value) >> 16U, HalfBits);
  std::memcpy(to, &narrow, sizeof(narrow));
}

// Converts a vector of float16 bits to and from float32 with F16C, which all AVX2 and AVX-512 machines support. The
// AVX-512 forms use a mask of all lanes, because gcc 12 warns that the unmasked forms read an uninitialised vector.
inline Vector widened_halves(const HalfBits& narrow) {
#if defined(__F16C__) && !defined(LAPTIME_LANES)
#if defined(__AVX512F__)
  return (Vector)_mm512_maskz_cvtph_ps(0xFFFF, (__m256i)narrow);
#else
  return (Vector)_mm256_cvtph_ps((__m128i)narrow);
#endif
#else
  Vector value{};
  for (int i = 0; i < kLanes; ++i) value[i] = widened(std::bit_cast<Float16>(static_cast<uint16_t>(narrow[i])));
  return value;
#endif
}
inline HalfBits narrowed_halves(const Vector& value) {
#if defined(__F16C__) && !defined(LAPTIME_LANES)
  constexpr int kToNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
#if defined(__AVX512F__)
  return (HalfBits)_mm512_maskz_cvtps_ph(0xFFFF, (__m512)value, kToNearest);
#else
  return (HalfBits)_mm256_cvtps_ph((__m256)value, kToNearest);
#endif
#else
  HalfBits narrow{};
  for (int i = 0; i < kLanes; ++i) narrow[i] = std::bit_cast<uint16_t>(narrowed<Float16>(value[i]));
  return narrow;
#endif
}
inline Vector load(const Float16* from) {
  HalfBits narrow;
  std::memcpy(&narrow, from, sizeof(narrow));
  return widened_halves(narrow);
}
inline Vector load(const RoundedTo<Float16>* from) { return widened_halves(narrowed_halves(load(&from->value))); }
inline void store(Float16* to, const Vector& value) {
  const HalfBits narrow = narrowed_halves(value);
  std::memcpy(to, &narrow, sizeof(narrow));
}

// Loads `size` contiguous elements as float32, or stores them.
template <class Element>
void widen_row(const Element* from, int64_t size, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) store(to + i, load(from + i));
  for (; i < size; ++i) to[i] = widened(from[i]);
}
template <class Element>
void narrow_row(const float* from, int64_t size, Element* to) {
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) store(to + i, load(from + i));
  for (; i < size; ++i) to[i] = narrowed<Element>(from[i]);
}

namespace detail {

// One exchange of a recursive transposition, on two rows kDistance apart. It swaps the upper right and the lower left
// quarter of every 2 kDistance x 2 kDistance block.
template <int kDistance, int... kLane>
inline void exchange(Vector& upper, Vector& lower, std::integer_sequence<int, kLane...>) {
  const Vector above = upper;
  const Vector below = lower;
  upper = __builtin_shufflevector(above, below, ((kLane & kDistance) == 0 ? kLane : kLanes + kLane - kDistance)...);
  lower = __builtin_shufflevector(above, below, ((kLane & kDistance) == 0 ? kLane + kDistance : kLanes + kLane)...);
}

template <int kDistance>
inline void transpose_blocks(std::array<Vector, kLanes>& rows) {
#pragma GCC unroll 16
  for (size_t row = 0; row < kLanes; ++row) {
    if ((row & size_t{kDistance}) == 0) {
      exchange<kDistance>(rows[row], rows[row + size_t{kDistance}], std::make_integer_sequence<int, kLanes>());
    }
  }
  if constexpr (kDistance > 1) transpose_blocks<kDistance / 2>(rows);
}

}  // namespace detail

// Transposes the matrix: swaps rows[i][j] and rows[j][i].
inline void transpose(std::array<Vector, kLanes>& rows) { detail::transpose_blocks<kLanes / 2>(rows); }

}  // namespace laptime::LAPTIME_ISA
