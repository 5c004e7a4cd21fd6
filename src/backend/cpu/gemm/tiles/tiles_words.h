// Words: what a packed panel consists of, 32 bits each: one float32, or a pair of bfloat16 for the dot product.
#pragma once

#include "backend/cpu/vector/vectors.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

namespace laptime::LAPTIME_ISA {

// A float32 that is rounded to bfloat16 as it is read.
struct Rounded {
  float value;
};

inline float widened(Rounded value) { return widened(narrowed<Brain>(value.value)); }

inline Bits bits_of(const Vector& value) {
  Bits bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
inline Vector from_bits(const Bits& bits) {
  Vector value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// To bfloat16, nearest even, in the upper halves; NaN stays NaN.
inline Bits rounded_bits(const Vector& value) {
  const Bits wide = bits_of(value);
  const Bits rounded = wide + 0x7FFFU + ((wide >> 16U) & 1U);
  return (value != value ? wide | 0x400000U : rounded) & 0xFFFF0000U;
}

inline Vector load(const Rounded* from) { return from_bits(rounded_bits(load(&from->value))); }

inline void store(Brain* to, const Vector& value) {
  const HalfBits narrow = __builtin_convertvector(rounded_bits(value) >> 16U, HalfBits);
  std::memcpy(to, &narrow, sizeof(narrow));
}

// kLanes words of a factor at once; `from` is their first element, `stride` the elements from one k to the next.
struct FloatWords {
  static constexpr int64_t kSpan = 1;  // elements of K in a word

  // Of consecutive k.
  template <class Element>
  static Vector along(const Element* from) {
    return load(from);
  }
  // Of neighbours at the same k.
  template <class Element>
  static Vector across(const Element* from, int64_t) {
    return load(from);
  }
  // A single one, of `depth` elements of K that are left.
  template <class Element>
  static float one(const Element* from, int64_t, int64_t) {
    return widened(*from);
  }
  static void multiply(Vector& sum, float a, const Vector& b) { sum += a * b; }
};

#if defined(__AVX512BF16__)
struct PairWords {
  static constexpr int64_t kSpan = 2;

  static Vector along(const Brain* from) {
    Vector words;
    std::memcpy(&words, from, sizeof(words));
    return words;
  }
  static Vector along(const Rounded* from) { return both(load(&from->value), load(&from[kLanes].value)); }
  static Vector across(const Brain* from, int64_t stride) {
    return from_bits((bits_of(load(from)) >> 16U) | bits_of(load(from + stride)));
  }
  static Vector across(const Rounded* from, int64_t stride) {
    return interleaved(both(load(&from->value), load(&from[stride].value)));
  }
  template <class Element>
  static float one(const Element* from, int64_t stride, int64_t depth) {
    const auto lower = std::bit_cast<uint32_t>(widened(from[0])) >> 16U;
    const auto upper = depth > 1 ? std::bit_cast<uint32_t>(widened(from[stride])) : 0;
    return std::bit_cast<float>(lower | upper);
  }
  static void multiply(Vector& sum, float a, const Vector& b) {
    sum = _mm512_dpbf16_ps(sum, (__m512bh)_mm512_set1_ps(a), (__m512bh)b);
  }

  // Rounded to bfloat16, `lower` in the lower half. NaN stays NaN, denormals become zeros as in the product.
  static Vector both(const Vector& lower, const Vector& upper) {
    return (Vector)_mm512_cvtne2ps_pbh((__m512)upper, (__m512)lower);
  }
  // Of two halves, one element of each in turn.
  static Vector interleaved(const Vector& halves) {
    return (Vector)_mm512_permutexvar_epi16(_mm512_load_si512(kInterleaved.data()), (__m512i)halves);
  }

 private:
  alignas(64) static constexpr std::array<uint16_t, 32> kInterleaved = [] {
    std::array<uint16_t, 32> places{};
    for (uint16_t i = 0; i < 32; ++i) places[i] = static_cast<uint16_t>(i / 2 + i % 2 * 16);
    return places;
  }();
};
#endif

}  // namespace laptime::LAPTIME_ISA
