// Blocks of attention: packed operands and products summed in registers.
#pragma once

#include "ops/scaled_dot_product_attention/tiles/scores_cpu.h"

namespace laptime::LAPTIME_ISA {

// A tile of sums, its columns of the right factor and one element of the left one fill the registers.
constexpr int kTileVectors = 2;
constexpr int kTileColumns = kTileVectors * kLanes;
constexpr int kTileRows = kRegisters == 32 ? 13 : kLanes == 8 ? 6 : 4;
static_assert(kTileRows <= kLanes);

constexpr int64_t kKeyRows = rounded_up(kKeyBlock, kTileRows);  // their rows in whole tiles
// Of a left factor: room for its longest row and a vector more; an odd number of cache lines, so that rows do not fall
// on the same cache sets.
constexpr int64_t kPitch = 272;

// `width` elements times `scale` as float32, then zeros up to a whole vector.
template <class Element>
void pack_row(const Element* from, int64_t width, float scale, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) store(to + i, load(from + i) * scale);
  if (i == width) return;
  for (; i < width; ++i) to[i] = widened(from[i]) * scale;
  for (; i % kLanes != 0; ++i) to[i] = 0;
}

// A left factor, or a right one read by its rows: element (i, k) at i * kPitch + k. Rows past the end, up to a whole
// tile, are zeros.
template <class Element>
void pack_left(HeadRows<const Element> from, int64_t rows, int64_t width, float scale, float* to) {
  for (int64_t i = 0; i < rows; ++i) pack_row(from[i], width, scale, to + i * kPitch);
  for (int64_t i = rows; i % kTileRows != 0; ++i) std::fill_n(to + i * kPitch, rounded_up(width, kLanes), 0.0F);
}

// A right factor in slivers of kTileColumns columns: element (k, j) of a sliver at k * kTileColumns + j.
// Row k of `from` is row k of it, of kKeyBlock ones.
template <class Element>
void pack_right(HeadRows<const Element> from, int64_t rows, int64_t width, float scale, float* to) {
  for (int64_t k = 0; k < rows; ++k) {
    for (int64_t column = 0; column < width; column += kTileColumns) {
      pack_row(from[k] + column, std::min<int64_t>(kTileColumns, width - column), scale,
               to + column * kKeyBlock + k * kTileColumns);
    }
  }
}

// Row j of `from` is column j of it; columns past the end, up to a whole vector, are zeros.
template <class Element>
void pack_right_transposed(HeadRows<const Element> from, int64_t rows, int64_t width, float* to) {
  for (int64_t j = 0; j < rows; j += kLanes) {
    float* const sliver = to + j / kTileColumns * width * kTileColumns + j % kTileColumns;
    const int64_t columns = std::min<int64_t>(kLanes, rows - j);
    int64_t k = 0;
    for (; columns == kLanes && k + kLanes <= width; k += kLanes) {
      std::array<Vector, kLanes> square;
      for (int i = 0; i < kLanes; ++i) square[static_cast<size_t>(i)] = load(from[j + i] + k);
      transpose(square);
      for (int i = 0; i < kLanes; ++i) store(sliver + (k + i) * kTileColumns, square[static_cast<size_t>(i)]);
    }
    for (; k < width; ++k) {
      for (int64_t i = 0; i < kLanes; ++i) sliver[k * kTileColumns + i] = i < columns ? widened(from[j + i][k]) : 0.0F;
    }
  }
}

constexpr int64_t kDepthOfFetch = 4;  // products of a tile between two fetches

// Sums of kTileRows rows and one or two vectors of columns.
template <int kVectors>
using Tile = std::array<std::array<Vector, kVectors>, kTileRows>;

// Element (i, k) of the left factor stands at i * kRowStep + k * kDepthStep, row k of the right one at k * kRightStep.
template <int kVectors, int64_t kRowStep, int64_t kDepthStep, int64_t kRightStep>
[[gnu::always_inline]] inline void multiply_tile(const float* left, const float* right, int64_t depth, Ahead& ahead,
                                                 Tile<kVectors>& sums) {
  sums = {};
  for (int64_t k = 0; k < depth; ++k, left += kDepthStep, right += kRightStep) {
    if (k % kDepthOfFetch == 0) ahead.fetch();
    std::array<Vector, kVectors> row;
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) row[v] = load(right + v * kLanes);
#pragma GCC unroll 16
    for (size_t i = 0; i < kTileRows; ++i) {
      const float factor = left[static_cast<int64_t>(i) * kRowStep];
#pragma GCC unroll 2
      for (size_t v = 0; v < kVectors; ++v) sums[i][v] += factor * row[v];
    }
  }
}

// One row of tiles: use(row, column, sums) for the kTileVectors vectors, or one, from each column on; `vectors` to a
// row.
template <int64_t kRowStep, int64_t kDepthStep, int64_t kRightStep, class Use>
[[gnu::always_inline]] inline void multiply_row(const float* left, const float* right, int64_t right_sliver,
                                                int64_t depth, int64_t vectors, Ahead& ahead, const Use& use) {
  int64_t column = 0;
  for (; vectors >= kTileVectors; vectors -= kTileVectors, column += kTileColumns, right += right_sliver) {
    Tile<kTileVectors> sums;
    multiply_tile<kTileVectors, kRowStep, kDepthStep, kRightStep>(left, right, depth, ahead, sums);
#pragma GCC unroll 16
    for (size_t i = 0; i < kTileRows; ++i) use(static_cast<int64_t>(i), column, sums[i]);
  }
  if (vectors == 0) return;
  Tile<1> sums;
  multiply_tile<1, kRowStep, kDepthStep, kRightStep>(left, right, depth, ahead, sums);
#pragma GCC unroll 16
  for (size_t i = 0; i < kTileRows; ++i) use(static_cast<int64_t>(i), column, sums[i]);
}

// As `use` of a row of tiles: each vector apart.
template <class Use>
auto each_vector(const Use& use) {
  return [use](int64_t i, int64_t column, const auto& sums) __attribute__((always_inline)) {
#pragma GCC unroll 2
    for (size_t v = 0; v < sums.size(); ++v) use(i, column + static_cast<int64_t>(v) * kLanes, sums[v]);
  };
}

}  // namespace laptime::LAPTIME_ISA
