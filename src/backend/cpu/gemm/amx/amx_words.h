// Elements as tiles of AMX hold them: in words of two neighbours in K, as one bfloat16 each or, float32, as three.
#pragma once

#include <immintrin.h>

#include "backend/cpu/gemm/tiles/tiles_words.h"

namespace laptime::LAPTIME_ISA {

constexpr int64_t kTile = 16;         // lines of a tile, and words in each
constexpr int64_t kStep = 2 * kTile;  // elements of K in a line along K
static_assert(kTile == kLanes);

// How 16 x 32 elements become a tile for each of kTerms: put(term, line, words). They come as 16 lines along K, or as
// 32 across at one K each, `stride` apart; turned, line i and word j change places. Packing is cut into kPieces, to be
// done one after the other, so that other work finds room between; `turning` holds what one leaves to the next.
constexpr int64_t kTurningFloats = kTile * kStep;

// Elements that are bfloat16, or rounded to it.
template <class Source>
struct OneTerm {
  static constexpr int64_t kTerms = 1;
  static constexpr int64_t kPieces = 4;
  using Element = Source;

  template <class Put>
  static void along(int64_t piece, const Element* from, int64_t stride, const Put& put) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kLinesOfPiece; ++i) {
      const int64_t line = piece * kLinesOfPiece + i;
      put(0, line, PairWords::along(from + line * stride));
    }
  }
  template <class Put>
  static void across(int64_t piece, const Element* from, int64_t stride, const Put& put) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kLinesOfPiece; ++i) {
      const int64_t line = piece * kLinesOfPiece + i;
      put(0, line, PairWords::across(from + 2 * line * stride, stride));
    }
  }
  template <class Put>
  static void along_turned(int64_t piece, const Element* from, int64_t stride, float*, const Put& put) {
    if (piece > 0) return;
    turned(put, [&](int64_t line) { return PairWords::along(from + line * stride); });
  }
  template <class Put>
  static void across_turned(int64_t piece, const Element* from, int64_t stride, float*, const Put& put) {
    if (piece > 0) return;
    turned(put, [&](int64_t line) { return PairWords::across(from + 2 * line * stride, stride); });
  }

 private:
  static constexpr int64_t kLinesOfPiece = kTile / kPieces;

  template <class Put, class Words>
  static void turned(const Put& put, const Words& words_of) {
    std::array<Vector, kTile> words;
#pragma GCC unroll 16
    for (int64_t line = 0; line < kTile; ++line) words[static_cast<size_t>(line)] = words_of(line);
    transpose(words);
    for (int64_t line = 0; line < kTile; ++line) put(0, line, words[static_cast<size_t>(line)]);
  }
};

// float32 as the sum of bfloat16 of falling size, 8 of its 24 bits in each: three are exact, but that denormals are
// zeros. Infinity becomes NaN.
template <int64_t kCount>
struct SplitTerms {
  static constexpr int64_t kTerms = kCount;
  static constexpr int64_t kPieces = 10;
  using Element = float;

  // One line: of 32 neighbours in K,
  template <class Put>
  [[gnu::always_inline]] static void along(const Vector& lower, const Vector& upper, int64_t line, const Put& put) {
    const auto of_lower = terms_of(lower);
    const auto of_upper = terms_of(upper);
#pragma GCC unroll 3
    for (size_t term = 0; term < size_t{kTerms}; ++term)
      put(static_cast<int64_t>(term), line, PairWords::both(of_lower[term], of_upper[term]));
  }
  // or of 16 elements at one K and the 16 at the next.
  template <class Put>
  [[gnu::always_inline]] static void across(const Vector& lower, const Vector& upper, int64_t line, const Put& put) {
    const auto of_lower = terms_of(lower);
    const auto of_upper = terms_of(upper);
#pragma GCC unroll 3
    for (size_t term = 0; term < size_t{kTerms}; ++term)
      put(static_cast<int64_t>(term), line,
          from_bits((bits_of(of_lower[term]) >> 16U) | (bits_of(of_upper[term]) & kUpper)));
  }

  template <class Put>
  static void along(int64_t piece, const float* from, int64_t stride, const Put& put) {
    each_line(piece, [&](int64_t line) {
      const float* const at = from + line * stride;
      along(load(at), load(at + kLanes), line, put);
    });
  }
  template <class Put>
  static void across(int64_t piece, const float* from, int64_t stride, const Put& put) {
    each_line(piece, [&](int64_t line) {
      const float* const at = from + 2 * line * stride;
      across(load(at), load(at + stride), line, put);
    });
  }
  // Two squares of float32 are turned first, not three of words.
  template <class Put>
  static void along_turned(int64_t piece, const float* from, int64_t stride, float* turning, const Put& put) {
    if (piece < kTurns) return turn(from + piece * kTile, stride, turning + piece * kTile * kTile, kTile);
    across(piece, turning, kTile, put);
  }
  template <class Put>
  static void across_turned(int64_t piece, const float* from, int64_t stride, float* turning, const Put& put) {
    if (piece < kTurns) return turn(from + piece * kTile * stride, stride, turning + piece * kTile, kStep);
    along(piece, turning, kStep, put);
  }

 private:
  static constexpr int64_t kTurns = 2;  // pieces before the lines, for what is turned
  static constexpr int64_t kLinesOfPiece = kTile / (kPieces - kTurns);

  template <class Line>
  [[gnu::always_inline]] static void each_line(int64_t piece, const Line& line) {
    if (piece < kTurns) return;
#pragma GCC unroll 2
    for (int64_t i = 0; i < kLinesOfPiece; ++i) line((piece - kTurns) * kLinesOfPiece + i);
  }
  static void turn(const float* from, int64_t stride, float* to, int64_t to_stride) {
    std::array<Vector, kTile> square;
#pragma GCC unroll 16
    for (size_t line = 0; line < kTile; ++line) square[line] = load(from + static_cast<int64_t>(line) * stride);
    transpose(square);
#pragma GCC unroll 16
    for (size_t line = 0; line < kTile; ++line) store(to + static_cast<int64_t>(line) * to_stride, square[line]);
  }

  // The largest term is cut off, not rounded: so NaN stays what it is in it, and no number becomes infinite. The second
  // is rounded to nearest, the third is what is left.
  [[gnu::always_inline]] static std::array<Vector, 3> terms_of(const Vector& value) {
    const Vector first = from_bits(bits_of(value) & kUpper);
    const Vector left = value - first;
    const Vector second = from_bits((bits_of(left) + 0x8000U) & kUpper);
    return {first, second, left - second};
  }
  static constexpr uint32_t kUpper = 0xFFFF0000U;
};
using TwoTerms = SplitTerms<2>;
using ThreeTerms = SplitTerms<3>;

}  // namespace laptime::LAPTIME_ISA
