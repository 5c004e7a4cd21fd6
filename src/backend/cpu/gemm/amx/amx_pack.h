// Packing for AMX: blocks of a and slivers of b as tiles, step by step of K, and within a step term by term.
#pragma once

#include "backend/cpu/gemm/amx/amx_words.h"
#include "backend/cpu/gemm/tiles/tiles_pack.h"
#include "base/checked.h"

namespace laptime::LAPTIME_ISA {

constexpr int64_t kTileWords = kTile * kTile;   // or sums
constexpr int64_t kSquare = 2 * kTile;          // rows and columns of a square: 2 x 2 tiles of sums
constexpr int64_t kStepWords = 2 * kTileWords;  // of a square's rows of a, or of a sliver of b: of one term
static_assert(kSquare == kTileColumns);

namespace detail {

// Up to 16 lines of up to 32 elements of K, with zeros in the place of what is missing.
template <class Terms>
struct Patch {
  std::array<typename Terms::Element, static_cast<size_t>(kTile* kStep)> elements{};

  Patch(const typename Terms::Element* from, int64_t line_stride, int64_t stride, int64_t lines, int64_t depth) {
    for (int64_t line = 0; line < std::min(lines, kTile); ++line)
      for (int64_t k = 0; k < std::min(depth, kStep); ++k)
        elements[static_cast<size_t>(line * kStep + k)] = from[line * line_stride + k * stride];
  }
};

}  // namespace detail

// A piece of a tile of a: 16 rows from `row` on, 32 elements of K from `k` on. Rows and K past the end are zeros.
template <class Terms>
void pack_rows_tile(const BlockSource& source, int64_t row, int64_t k, int64_t piece, float* turning, float* to) {
  const auto [row_stride, stride] = source.strides;
  const auto* const from =
      reinterpret_cast<const typename Terms::Element*>(source.first) + row * row_stride + k * stride;
  const auto put = [&](int64_t term, int64_t line, const Vector& words) {
    store(to + term * kStepWords + line * kTile, words);
  };
  if (row + kTile <= source.readable && k + kStep <= source.depth) {
    if (stride == 1) return Terms::along(piece, from, row_stride, put);
    if (row_stride == 1) return Terms::across_turned(piece, from, stride, turning, put);
  }
  if (piece > 0) return;
  const detail::Patch<Terms> patch(from, row_stride, stride, source.rows - row, source.depth - k);
  for (int64_t i = 0; i < Terms::kPieces; ++i) Terms::along(i, patch.elements.data(), kStep, put);
}

// A piece of a tile of b: 16 columns from `column` of a sliver on, 32 elements of K from `k` on. Columns and K past the
// end are zeros.
template <class Terms>
void pack_columns_tile(const SliverSource& source, int64_t column, int64_t k, int64_t piece, float* turning,
                       float* to) {
  const auto [stride, column_stride] = source.strides;
  const auto* const from =
      reinterpret_cast<const typename Terms::Element*>(source.first) + k * stride + column * column_stride;
  const auto put = [&](int64_t term, int64_t line, const Vector& words) {
    store(to + term * kStepWords + line * kSquare, words);
  };
  if (column + kTile <= source.columns && k + kStep <= source.depth) {
    if (column_stride == 1) return Terms::across(piece, from, stride, put);
    if (stride == 1) return Terms::along_turned(piece, from, column_stride, turning, put);
  }
  if (piece > 0) return;
  const detail::Patch<Terms> patch(from, column_stride, stride, source.columns - column, source.depth - k);
  for (int64_t i = 0; i < Terms::kPieces; ++i) Terms::along_turned(i, patch.elements.data(), kStep, turning, put);
}

using Turning = std::array<float, static_cast<size_t>(kTurningFloats)>;

// How the factors of a product are packed.
struct PackTiles {
  void (*rows)(const BlockSource& source, int64_t row, int64_t k, int64_t piece, float* turning, float* to) = nullptr;
  void (*columns)(const SliverSource& source, int64_t column, int64_t k, int64_t piece, float* turning,
                  float* to) = nullptr;
  int64_t terms = 1;
  int64_t pieces = 1;
};
template <class OfA, class OfB>
constexpr PackTiles kPackTiles{pack_rows_tile<OfA>, pack_columns_tile<OfB>, OfA::kTerms, OfA::kPieces};

// A sliver of b, packed piece by piece.
class SliverPacker {
 public:
  SliverPacker() = default;
  SliverPacker(const PackTiles& pack, const SliverSource& source, float* sliver)
      : pack_(pack),
        source_(source),
        to_(sliver),
        left_(source.columns > 0 ? 2 * ceil_div(source.depth, kStep) * pack.pieces : 0) {}

  int64_t left() const { return left_; }
  void pack(int64_t pieces) {
    for (; pieces > 0 && left_ > 0; --pieces, --left_) {
      pack_.columns(source_, column_, k_, piece_, turning_.data(), to_ + column_);
      if (++piece_ < pack_.pieces) continue;
      piece_ = 0;
      column_ = kTile - column_;
      if (column_ > 0) continue;
      k_ += kStep;
      to_ += pack_.terms * kStepWords;
    }
  }

 private:
  PackTiles pack_;
  SliverSource source_;
  float* to_ = nullptr;
  int64_t left_ = 0;
  int64_t column_ = 0, k_ = 0, piece_ = 0;
  alignas(64) Turning turning_;
};

}  // namespace laptime::LAPTIME_ISA
