// Blocks of attention: packed operands, products summed in registers, and powers of two of the scores.
#pragma once

#include "ops/scaled_dot_product_attention/attention_call_cpu.h"

namespace laptime::LAPTIME_ISA {

// A tile of sums, its columns of the right factor and one element of the left one fill the registers.
constexpr int kTileVectors = 2;
constexpr int kTileColumns = kTileVectors * kLanes;
constexpr int kTileRows = kRegisters == 32 ? 13 : kLanes == 8 ? 6 : 4;
static_assert(kTileRows <= kLanes);

constexpr int64_t kKeyBlock = 256;                              // keys that are packed together
constexpr int64_t kKeyRows = rounded_up(kKeyBlock, kTileRows);  // their rows in whole tiles
constexpr int64_t kWidest = 256;                                // of a head, so that a block fits in the scratch
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

// 2^x for x up to 127, within 1.5 ulp; 0 below 2^-100, NaN for NaN.
inline Vector exp2(const Vector& x) {
  constexpr float kSmallest = -100.0F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest whole number in the low bits
  const Vector shifted = x + kRound;
  const Vector r = x - (shifted - kRound);
  // 2^r on [-1/2, 1/2], minimax with relative error 2.2e-8
  Vector power = r * 0.00015594677824992687F + 0.0013406643411144614F;
  power = power * r + 0.009617692790925503F;
  power = power * r + 0.055503103882074356F;
  power = power * r + 0.24022652208805084F;
  power = power * r + 0.6931472420692444F;
  power = power * r + 1.0F;
  const Vector y = std::bit_cast<Vector>(std::bit_cast<Bits>(power) + (std::bit_cast<Bits>(shifted) << 23U));
  return x < kSmallest ? Vector{} : y;
}

inline Vector larger(const Vector& a, const Vector& b) { return a > b ? a : b; }

namespace detail {
template <int kStep, int... kLane>
inline Vector swapped(const Vector& x, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(x, x, (kLane ^ kStep)...);
}
template <int... kLane>
inline Vector lane_numbers(std::integer_sequence<int, kLane...>) {
  return Vector{static_cast<float>(kLane)...};
}
}  // namespace detail

// All lanes get the sum of all.
template <int kStep = kLanes / 2>
inline Vector lane_sum(Vector x) {
  x += detail::swapped<kStep>(x, std::make_integer_sequence<int, kLanes>());
  if constexpr (kStep > 1) x = lane_sum<kStep / 2>(x);
  return x;
}

// Lane i gets the largest, or the sum, of all lanes of row i.
using TileRows = std::array<Vector, kLanes>;
inline Vector largest_of_rows(TileRows rows) {
  transpose(rows);
#pragma GCC unroll 4
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (size_t i = 0; i < half; ++i) rows[i] = larger(rows[i], rows[i + half]);
  }
  return rows[0];
}
inline Vector sum_of_rows(TileRows rows) {
  transpose(rows);
#pragma GCC unroll 4
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (size_t i = 0; i < half; ++i) rows[i] += rows[i + half];
  }
  return rows[0];
}

// x in lanes below `count`, else `otherwise`.
inline Vector first_lanes(const Vector& x, int64_t count, float otherwise) {
  const Vector lanes = detail::lane_numbers(std::make_integer_sequence<int, kLanes>());
  return lanes < static_cast<float>(count) ? x : Vector{} + otherwise;
}

}  // namespace laptime::LAPTIME_ISA
