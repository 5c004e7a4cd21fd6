// Packing for AMX. A packed panel contains 32 rows of A, or 32 columns of B, as tiles of 16 rows or columns. The tiles
// are ordered by step of 32 elements of K, and within a step by term; each term of a step has two tiles.
#pragma once

#include "backend/cpu/gemm/amx/terms.h"
#include "backend/cpu/gemm/tiles/pack.h"
#include "base/checked.h"

namespace laptime::LAPTIME_ISA::gemm_amx {

using gemm_tiles::ABlockSource;
using gemm_tiles::BPanelSource;

constexpr int64_t kMicroTile = 2 * kTile;            // mr and nr: the micro-tile of C is 2 x 2 tiles of sums
constexpr int64_t kTileWords = kTile * kTile;        // 32-bit words, or sums, in a tile
constexpr int64_t kPanelStepWords = 2 * kTileWords;  // words of one term of a panel in one step of K
static_assert(kMicroTile == gemm_tiles::kNr);

namespace detail {

// A copy of up to 16 lines with up to 32 elements of K each, padded with zeros.
template <class Terms>
struct PaddedLines {
  std::array<typename Terms::Element, static_cast<size_t>(kTile* kTileK)> elements{};

  PaddedLines(const typename Terms::Element* from, int64_t line_stride, int64_t stride, int64_t lines, int64_t kc) {
    for (int64_t line = 0; line < std::min(lines, kTile); ++line)
      for (int64_t k = 0; k < std::min(kc, kTileK); ++k)
        elements[static_cast<size_t>(line * kTileK + k)] = from[line * line_stride + k * stride];
  }
};

}  // namespace detail

// Packs one piece of a tile of A: rows [row, row + 16), elements [k, k + 32) of K. Elements past the end of K become
// zeros. Rows past the end of the block become zeros or further rows of A; their sums are never stored.
template <class Terms>
void pack_a_tile(const ABlockSource& source, int64_t row, int64_t k, int64_t piece, float* buffer, float* to) {
  const auto [row_stride, stride] = source.strides;
  const auto* const from =
      reinterpret_cast<const typename Terms::Element*>(source.data) + row * row_stride + k * stride;
  const auto put = [&](int64_t term, int64_t tile_row, const Vector& words) {
    store(to + term * kPanelStepWords + tile_row * kTile, words);
  };
  if (row + kTile <= source.readable && k + kTileK <= source.kc) {
    if (stride == 1) return Terms::along_k(piece, from, row_stride, put);
    if (row_stride == 1) return Terms::across_k_transposed(piece, from, stride, buffer, put);
  }
  if (piece > 0) return;
  const detail::PaddedLines<Terms> padded(from, row_stride, stride, source.rows - row, source.kc - k);
  for (int64_t i = 0; i < Terms::kPieces; ++i) Terms::along_k(i, padded.elements.data(), kTileK, put);
}

// Packs one piece of a tile of B: columns [column, column + 16) of a panel, elements [k, k + 32) of K. Columns and
// elements past the end become zeros.
template <class Terms>
void pack_b_tile(const BPanelSource& source, int64_t column, int64_t k, int64_t piece, float* buffer, float* to) {
  const auto [stride, column_stride] = source.strides;
  const auto* const from =
      reinterpret_cast<const typename Terms::Element*>(source.data) + k * stride + column * column_stride;
  const auto put = [&](int64_t term, int64_t tile_row, const Vector& words) {
    store(to + term * kPanelStepWords + tile_row * kMicroTile, words);
  };
  if (column + kTile <= source.columns && k + kTileK <= source.kc) {
    if (column_stride == 1) return Terms::across_k(piece, from, stride, put);
    if (stride == 1) return Terms::along_k_transposed(piece, from, column_stride, buffer, put);
  }
  if (piece > 0) return;
  const detail::PaddedLines<Terms> padded(from, column_stride, stride, source.columns - column, source.kc - k);
  for (int64_t i = 0; i < Terms::kPieces; ++i)
    Terms::along_k_transposed(i, padded.elements.data(), kTileK, buffer, put);
}

// Functions that pack the tiles of A and B.
struct PackTiles {
  void (*a_tile)(const ABlockSource& source, int64_t row, int64_t k, int64_t piece, float* buffer, float* to) = nullptr;
  void (*b_tile)(const BPanelSource& source, int64_t column, int64_t k, int64_t piece, float* buffer,
                 float* to) = nullptr;
  int64_t terms = 1;
  int64_t pieces = 1;  // pieces per tile
};
template <class ATerms, class BTerms>
constexpr PackTiles kPackTiles{pack_a_tile<ATerms>, pack_b_tile<BTerms>, ATerms::kTerms, ATerms::kPieces};

// Packs a panel of B piece by piece, so that the work can be interleaved with tile products.
class BPanelPacker {
 public:
  BPanelPacker() = default;
  BPanelPacker(const PackTiles& pack, const BPanelSource& source, float* panel)
      : pack_(pack),
        source_(source),
        to_(panel),
        left_(source.columns > 0 ? 2 * ceil_div(source.kc, kTileK) * pack.pieces : 0) {}

  // The number of pieces not yet packed.
  int64_t left() const { return left_; }
  void pack(int64_t pieces) {
    for (; pieces > 0 && left_ > 0; --pieces, --left_) {
      pack_.b_tile(source_, column_, k_, piece_, buffer_.data(), to_ + column_);
      if (++piece_ < pack_.pieces) continue;
      piece_ = 0;
      column_ = kTile - column_;
      if (column_ > 0) continue;
      k_ += kTileK;
      to_ += pack_.terms * kPanelStepWords;
    }
  }

 private:
  PackTiles pack_;
  BPanelSource source_;
  float* to_ = nullptr;
  int64_t left_ = 0;
  int64_t column_ = 0, k_ = 0, piece_ = 0;
  alignas(64) TransposeBuffer buffer_;
};

}  // namespace laptime::LAPTIME_ISA::gemm_amx
