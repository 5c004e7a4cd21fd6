// Elements as tiles of AMX hold them: in words of two neighbours in K, as one bfloat16 each or, float32, as three.
#pragma once

#include <immintrin.h>

#include "backend/cpu/tiles_words.h"

namespace laptime::LAPTIME_ISA {

constexpr int64_t kTile = 16;         // lines of a tile, and words in each
constexpr int64_t kStep = 2 * kTile;  // elements of K in a line along K
static_assert(kTile == kLanes);

// How 16 x 32 elements become a tile for each of kTerms: put(term, line, words). `from` is the first of 16 lines along K,
// or across of 32 at one K each, `stride` elements apart. Turned: line i and word j change places.

// Elements that are bfloat16, or rounded to it.
template <class Source>
struct OneTerm {
  static constexpr int64_t kTerms = 1;
  using Element = Source;

  template <class Put>
  static void along(const Element* from, int64_t stride, const Put& put) {
#pragma GCC unroll 16
    for (int64_t line = 0; line < kTile; ++line) put(0, line, PairWords::along(from + line * stride));
  }
  template <class Put>
  static void across(const Element* from, int64_t stride, const Put& put) {
#pragma GCC unroll 16
    for (int64_t line = 0; line < kTile; ++line) put(0, line, PairWords::across(from + 2 * line * stride, stride));
  }
  template <class Put>
  static void along_turned(const Element* from, int64_t stride, const Put& put) {
    turned(put, [&](const auto& keep) { along(from, stride, keep); });
  }
  template <class Put>
  static void across_turned(const Element* from, int64_t stride, const Put& put) {
    turned(put, [&](const auto& keep) { across(from, stride, keep); });
  }

 private:
  template <class Put, class Pack>
  static void turned(const Put& put, const Pack& pack) {
    std::array<Vector, kTile> words;
    pack([&](int64_t, int64_t line, const Vector& value) { words[static_cast<size_t>(line)] = value; });
    transpose(words);
    for (int64_t line = 0; line < kTile; ++line) put(0, line, words[static_cast<size_t>(line)]);
  }
};

// float32 as the sum of three bfloat16 of falling size, 8 of its 24 bits in each: exact, but that denormals are zeros.
// Infinity becomes NaN.
struct ThreeTerms {
  static constexpr int64_t kTerms = 3;
  using Element = float;

  template <class Put>
  static void along(const float* from, int64_t stride, const Put& put) {
    for (int64_t line = 0; line < kTile; ++line) {
      const float* const at = from + line * stride;
      put_along(load(at), load(at + kLanes), line, put);
    }
  }
  template <class Put>
  static void across(const float* from, int64_t stride, const Put& put) {
    for (int64_t line = 0; line < kTile; ++line) {
      const float* const at = from + 2 * line * stride;
      put_across(load(at), load(at + stride), line, put);
    }
  }
  // Two squares of float32 are turned, not three of words.
  template <class Put>
  static void along_turned(const float* from, int64_t stride, const Put& put) {
    for (int64_t half = 0; half < 2; ++half) {
      const Square square = turned(from + half * kTile, stride);
#pragma GCC unroll 8
      for (size_t pair = 0; pair < kTile / 2; ++pair)
        put_across(square[2 * pair], square[2 * pair + 1], half * kTile / 2 + static_cast<int64_t>(pair), put);
    }
  }
  template <class Put>
  static void across_turned(const float* from, int64_t stride, const Put& put) {
    const Square lower = turned(from, stride);
    const Square upper = turned(from + kTile * stride, stride);
#pragma GCC unroll 16
    for (size_t line = 0; line < kTile; ++line) put_along(lower[line], upper[line], static_cast<int64_t>(line), put);
  }

 private:
  using Square = std::array<Vector, kTile>;
  static Square turned(const float* from, int64_t stride) {
    Square square;
#pragma GCC unroll 16
    for (size_t line = 0; line < kTile; ++line) square[line] = load(from + static_cast<int64_t>(line) * stride);
    transpose(square);
    return square;
  }

  // The largest term is cut off, not rounded: so NaN stays what it is in it, and no number becomes infinite. The second
  // is rounded to nearest, the third is what is left.
  [[gnu::always_inline]] static std::array<Vector, kTerms> terms_of(const Vector& value) {
    const Vector first = from_bits(bits_of(value) & kUpper);
    const Vector left = value - first;
    const Vector second = from_bits((bits_of(left) + 0x8000U) & kUpper);
    return {first, second, left - second};
  }
  // 32 neighbours in K.
  template <class Put>
  [[gnu::always_inline]] static void put_along(const Vector& lower, const Vector& upper, int64_t line, const Put& put) {
    const auto of_lower = terms_of(lower);
    const auto of_upper = terms_of(upper);
#pragma GCC unroll 3
    for (size_t term = 0; term < kTerms; ++term)
      put(static_cast<int64_t>(term), line, PairWords::both(of_lower[term], of_upper[term]));
  }
  // 16 elements at one K, and the 16 at the next.
  template <class Put>
  [[gnu::always_inline]] static void put_across(const Vector& lower, const Vector& upper, int64_t line,
                                                const Put& put) {
    const auto of_lower = terms_of(lower);
    const auto of_upper = terms_of(upper);
#pragma GCC unroll 3
    for (size_t term = 0; term < kTerms; ++term)
      put(static_cast<int64_t>(term), line,
          from_bits((bits_of(of_lower[term]) >> 16U) | (bits_of(of_upper[term]) & kUpper)));
  }

  static constexpr uint32_t kUpper = 0xFFFF0000U;
};

}  // namespace laptime::LAPTIME_ISA
