// Terms: the bfloat16 terms into which each element of a factor is split, packed as rows of AMX tiles. A row of a tile
// has 16 words. Each word is a pair of bfloat16 that are adjacent in K.
#pragma once

#include <immintrin.h>

#include "backend/cpu/gemm/amx/bfloat16_terms.h"
#include "backend/cpu/gemm/tiles/packed_words.h"

namespace laptime::LAPTIME_ISA::gemm_amx {

using gemm_tiles::PairWords;

constexpr int64_t kTile = 16;          // rows of a tile, and words in each row
constexpr int64_t kTileK = 2 * kTile;  // elements of K that one tile product covers
static_assert(kTile == kLanes);

// A Terms type packs 16 x 32 elements, 32 of them along K, into one tile for each of its kTerms terms. It passes
// whole rows of tiles to put(term, row, words). `stride` is the distance, in elements, between the lines in memory:
//   along_k   16 lines, each of 32 elements that are consecutive in K;
//   across_k  32 lines, each of 16 elements at the same k.
// The rows of the resulting tile are the lines (pairs of lines for across_k). along_k_transposed and
// across_k_transposed produce the transposed tile: word j of row i becomes word i of row j. Packing a tile takes
// kPieces calls, in order from piece 0, so that packing can be interleaved with tile products. `buffer` keeps
// kTransposeFloats floats between the calls.
constexpr int64_t kTransposeFloats = kTile * kTileK;
using TransposeBuffer = std::array<float, static_cast<size_t>(kTransposeFloats)>;

// One term per element, for elements that are bfloat16 or are rounded to bfloat16.
template <class Source>
struct OneTerm {
  static constexpr int64_t kTerms = 1;
  static constexpr int64_t kPieces = 4;
  using Element = Source;

  template <class Put>
  static void along_k(int64_t piece, const Element* from, int64_t stride, const Put& put) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kRowsPerPiece; ++i) {
      const int64_t row = piece * kRowsPerPiece + i;
      put(0, row, PairWords::along_k(from + row * stride));
    }
  }
  template <class Put>
  static void across_k(int64_t piece, const Element* from, int64_t stride, const Put& put) {
#pragma GCC unroll 4
    for (int64_t i = 0; i < kRowsPerPiece; ++i) {
      const int64_t row = piece * kRowsPerPiece + i;
      put(0, row, PairWords::across_k(from + 2 * row * stride, stride));
    }
  }
  template <class Put>
  static void along_k_transposed(int64_t piece, const Element* from, int64_t stride, float*, const Put& put) {
    if (piece > 0) return;
    put_transposed(put, [&](int64_t row) { return PairWords::along_k(from + row * stride); });
  }
  template <class Put>
  static void across_k_transposed(int64_t piece, const Element* from, int64_t stride, float*, const Put& put) {
    if (piece > 0) return;
    put_transposed(put, [&](int64_t row) { return PairWords::across_k(from + 2 * row * stride, stride); });
  }

 private:
  static constexpr int64_t kRowsPerPiece = kTile / kPieces;

  template <class Put, class LoadRow>
  static void put_transposed(const Put& put, const LoadRow& load_row) {
    std::array<Vector, kTile> words;
#pragma GCC unroll 16
    for (int64_t row = 0; row < kTile; ++row) words[static_cast<size_t>(row)] = load_row(row);
    transpose(words);
    for (int64_t row = 0; row < kTile; ++row) put(0, row, words[static_cast<size_t>(row)]);
  }
};

// One term per element: vectors of float32 rounded to bfloat16. Packs single rows, like SplitTerms.
struct RoundedTerm {
  static constexpr int64_t kTerms = 1;

  template <class Put>
  [[gnu::always_inline]] static void along_k(const Vector& lower, const Vector& upper, int64_t row, const Put& put) {
    put(0, row, PairWords::packed_halves(lower, upper));
  }
  template <class Put>
  [[gnu::always_inline]] static void across_k(const Vector& lower, const Vector& upper, int64_t row, const Put& put) {
    put(0, row, PairWords::interleaved(PairWords::packed_halves(lower, upper)));
  }
};

// Several terms per element: the first kCount of the three bfloat16 terms of a float32. Tile products treat denormal
// terms as zeros.
template <int64_t kCount>
struct SplitTerms {
  static constexpr int64_t kTerms = kCount;
  static constexpr int64_t kPieces = 10;
  using Element = float;

  // Packs one row of 32 elements that are consecutive in K.
  template <class Put>
  [[gnu::always_inline]] static void along_k(const Vector& lower, const Vector& upper, int64_t row, const Put& put) {
    const auto lower_terms = terms_of(lower);
    const auto upper_terms = terms_of(upper);
#pragma GCC unroll 3
    for (size_t term = 0; term < size_t{kTerms}; ++term)
      put(static_cast<int64_t>(term), row, PairWords::packed_halves(lower_terms[term], upper_terms[term]));
  }
  // Packs one row from 16 elements at one k (`lower`) and the 16 at the next k (`upper`).
  template <class Put>
  [[gnu::always_inline]] static void across_k(const Vector& lower, const Vector& upper, int64_t row, const Put& put) {
    const auto lower_terms = terms_of(lower);
    const auto upper_terms = terms_of(upper);
#pragma GCC unroll 3
    for (size_t term = 0; term < size_t{kTerms}; ++term)
      put(static_cast<int64_t>(term), row,
          std::bit_cast<Vector>((std::bit_cast<Bits>(lower_terms[term]) >> 16U) |
                                (std::bit_cast<Bits>(upper_terms[term]) & cpu::kUpperHalf)));
  }

  template <class Put>
  static void along_k(int64_t piece, const float* from, int64_t stride, const Put& put) {
    for_rows(piece, [&](int64_t row) {
      const float* const line = from + row * stride;
      along_k(load(line), load(line + kLanes), row, put);
    });
  }
  template <class Put>
  static void across_k(int64_t piece, const float* from, int64_t stride, const Put& put) {
    for_rows(piece, [&](int64_t row) {
      const float* const line = from + 2 * row * stride;
      across_k(load(line), load(line + stride), row, put);
    });
  }
  // Transposes the two 16 x 16 halves as float32, before splitting them. Transposing the packed words instead would
  // need one transposition per term.
  template <class Put>
  static void along_k_transposed(int64_t piece, const float* from, int64_t stride, float* buffer, const Put& put) {
    if (piece < kTransposePieces)
      return transpose_half(from + piece * kTile, stride, buffer + piece * kTile * kTile, kTile);
    across_k(piece, buffer, kTile, put);
  }
  template <class Put>
  static void across_k_transposed(int64_t piece, const float* from, int64_t stride, float* buffer, const Put& put) {
    if (piece < kTransposePieces)
      return transpose_half(from + piece * kTile * stride, stride, buffer + piece * kTile, kTileK);
    along_k(piece, buffer, kTileK, put);
  }

 private:
  static constexpr int64_t kTransposePieces = 2;  // the first two pieces transpose; the others pass rows to `put`
  static constexpr int64_t kRowsPerPiece = kTile / (kPieces - kTransposePieces);

  template <class PutRow>
  [[gnu::always_inline]] static void for_rows(int64_t piece, const PutRow& put_row) {
    if (piece < kTransposePieces) return;
#pragma GCC unroll 2
    for (int64_t i = 0; i < kRowsPerPiece; ++i) put_row((piece - kTransposePieces) * kRowsPerPiece + i);
  }
  static void transpose_half(const float* from, int64_t stride, float* to, int64_t to_stride) {
    std::array<Vector, kTile> rows;
#pragma GCC unroll 16
    for (size_t row = 0; row < kTile; ++row) rows[row] = load(from + static_cast<int64_t>(row) * stride);
    transpose(rows);
#pragma GCC unroll 16
    for (size_t row = 0; row < kTile; ++row) store(to + static_cast<int64_t>(row) * to_stride, rows[row]);
  }

  [[gnu::always_inline]] static std::array<Vector, 3> terms_of(const Vector& value) {
    return cpu::bfloat16_terms<Vector, Bits>(value);
  }
};
using TwoTerms = SplitTerms<2>;
using ThreeTerms = SplitTerms<3>;

}  // namespace laptime::LAPTIME_ISA::gemm_amx
