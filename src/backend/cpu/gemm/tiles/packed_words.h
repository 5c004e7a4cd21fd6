// Packed words: the 32-bit elements of packed panels, each one float32, or a pair of bfloat16 that are adjacent in K.
#pragma once

#include "backend/cpu/vector/vectors.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

namespace laptime::LAPTIME_ISA::gemm_tiles {

// A Words type packs words from a factor in memory and multiplies them. `from` points to the first element; `stride` is
// the distance, in elements, from one k to the next. kLanes words are packed at once by
//   along_k  from consecutive k of one row of A or column of B, which are adjacent in memory;
//   across_k from kLanes rows or columns at the same k, which are adjacent in memory.
// one() packs a single word; `depth` is the number of elements of K that are left.
struct FloatWords {
  static constexpr int64_t kSpan = 1;  // elements of K in a word

  template <class Element>
  static Vector along_k(const Element* from) {
    return load(from);
  }
  template <class Element>
  static Vector across_k(const Element* from, int64_t) {
    return load(from);
  }
  template <class Element>
  static float one(const Element* from, int64_t, int64_t) {
    return widened(*from);
  }
  static void add_product(Vector& sum, float a, const Vector& b) { sum = multiply_add(a, b, sum); }
};

#if defined(__AVX512BF16__)
// If K is odd, the second element of the last pair is zero.
struct PairWords {
  static constexpr int64_t kSpan = 2;

  static Vector along_k(const BFloat16* from) {
    Vector words;
    std::memcpy(&words, from, sizeof(words));
    return words;
  }
  static Vector along_k(const RoundedTo<BFloat16>* from) {
    return packed_halves(load(&from->value), load(&from[kLanes].value));
  }
  static Vector across_k(const BFloat16* from, int64_t stride) {
    return std::bit_cast<Vector>((std::bit_cast<Bits>(load(from)) >> 16U) | std::bit_cast<Bits>(load(from + stride)));
  }
  static Vector across_k(const RoundedTo<BFloat16>* from, int64_t stride) {
    return interleaved(packed_halves(load(&from->value), load(&from[stride].value)));
  }
  template <class Element>
  static float one(const Element* from, int64_t stride, int64_t depth) {
    const auto lower = std::bit_cast<uint32_t>(widened(from[0])) >> 16U;
    const auto upper = depth > 1 ? std::bit_cast<uint32_t>(widened(from[stride])) : 0;
    return std::bit_cast<float>(lower | upper);
  }
  static void add_product(Vector& sum, float a, const Vector& b) {
    sum = _mm512_dpbf16_ps(sum, (__m512bh)_mm512_set1_ps(a), (__m512bh)b);
  }

  // Rounds two vectors to bfloat16, and puts `lower` into the lower half of the result and `upper` into the upper half.
  // NaN stays NaN; denormals become zeros, as in the dot product.
  static Vector packed_halves(const Vector& lower, const Vector& upper) {
    return (Vector)_mm512_cvtne2ps_pbh((__m512)upper, (__m512)lower);
  }
  // Combines element i of the lower half and element i of the upper half into word i.
  static Vector interleaved(const Vector& halves) {
    return (Vector)_mm512_permutexvar_epi16(_mm512_load_si512(kInterleaved.data()), (__m512i)halves);
  }

 private:
  alignas(64) static constexpr std::array<uint16_t, 32> kInterleaved = [] {
    std::array<uint16_t, 32> positions{};
    for (uint16_t i = 0; i < 32; ++i) positions[i] = static_cast<uint16_t>(i / 2 + i % 2 * 16);
    return positions;
  }();
};
#endif

}  // namespace laptime::LAPTIME_ISA::gemm_tiles
