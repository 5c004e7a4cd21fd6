// Products of packed factors, in register tiles and in rows of tiles.
#pragma once

#include "ops/scaled_dot_product_attention/tiles/pack_cpu.h"
#include "ops/scaled_dot_product_attention/tiles/prefetcher_cpu.h"

namespace laptime::LAPTIME_ISA::attention::tiles {

constexpr int64_t kPrefetchDistance = 4;  // steps of K between two calls to the prefetcher

// A register tile of sums: kTileRows rows of one or two vectors.
template <int kVectors>
using Tile = std::array<std::array<Vector, kVectors>, kTileRows>;

// Sets sums to the product of left and right over `depth` steps of K. Element (i, k) of the left factor is at i *
// kRowStep + k * kDepthStep, and row k of the right factor is at k * kRightStep.
template <int kVectors, int64_t kRowStep, int64_t kDepthStep, int64_t kRightStep>
[[gnu::always_inline]] inline void multiply_tile(const float* left, const float* right, int64_t depth,
                                                 Prefetcher& prefetcher, Tile<kVectors>& sums) {
  sums = {};
  for (int64_t k = 0; k < depth; ++k, left += kDepthStep, right += kRightStep) {
    if (k % kPrefetchDistance == 0) prefetcher.fetch();
    std::array<Vector, kVectors> row;
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) row[v] = load(right + v * kLanes);
#pragma GCC unroll 16
    for (size_t i = 0; i < kTileRows; ++i) {
      const float factor = left[static_cast<int64_t>(i) * kRowStep];
#pragma GCC unroll 2
      for (size_t v = 0; v < kVectors; ++v) sums[i][v] = multiply_add(factor, row[v], sums[i][v]);
    }
  }
}

// Multiplies one row of tiles, `vectors` vectors wide. Panels of the right factor are `right_panel` floats apart. For
// each row of sums, calls use(row, column, sums) for each group of kTileVectors vectors, and for a last single vector.
template <int64_t kRowStep, int64_t kDepthStep, int64_t kRightStep, class Use>
[[gnu::always_inline]] inline void multiply_row(const float* left, const float* right, int64_t right_panel,
                                                int64_t depth, int64_t vectors, Prefetcher& prefetcher,
                                                const Use& use) {
  int64_t column = 0;
  for (; vectors >= kTileVectors; vectors -= kTileVectors, column += kTileColumns, right += right_panel) {
    Tile<kTileVectors> sums;
    multiply_tile<kTileVectors, kRowStep, kDepthStep, kRightStep>(left, right, depth, prefetcher, sums);
#pragma GCC unroll 16
    for (size_t i = 0; i < kTileRows; ++i) use(static_cast<int64_t>(i), column, sums[i]);
  }
  if (vectors == 0) return;
  Tile<1> sums;
  multiply_tile<1, kRowStep, kDepthStep, kRightStep>(left, right, depth, prefetcher, sums);
#pragma GCC unroll 16
  for (size_t i = 0; i < kTileRows; ++i) use(static_cast<int64_t>(i), column, sums[i]);
}

// Returns a callback for multiply_row that splits each group of vectors and calls use(row, column, sum) for each
// vector.
template <class Use>
auto each_vector(const Use& use) {
  return [use](int64_t i, int64_t column, const auto& sums) __attribute__((always_inline)) {
#pragma GCC unroll 2
    for (size_t v = 0; v < sums.size(); ++v) use(i, column + static_cast<int64_t>(v) * kLanes, sums[v]);
  };
}

}  // namespace laptime::LAPTIME_ISA::attention::tiles
