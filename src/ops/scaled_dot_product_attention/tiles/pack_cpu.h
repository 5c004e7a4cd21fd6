// Packs the operands of attention into float32 panels for products of register tiles.
#pragma once

#include "ops/scaled_dot_product_attention/key_parts_cpu.h"

namespace laptime::LAPTIME_ISA::attention::tiles {

// A register tile: kTileRows x kTileColumns sums. The sums, a row of the right factor and one element of the left
// factor fill the registers.
constexpr int kTileVectors = 2;
constexpr int kTileColumns = kTileVectors * kLanes;
constexpr int kTileRows = kRegisters == 32 ? 13 : kLanes == 8 ? 6 : 4;
static_assert(kTileRows <= kLanes);

// Rows of a left factor are kPitch floats apart. This is enough for kMaxWidth or kKeyBlock elements and one more
// vector. It is an odd number of cache lines, so that rows do not share cache sets.
constexpr int64_t kPitch = 272;
constexpr int64_t kKeyRows = ceil_div(kKeyBlock, kTileRows) * kTileRows;  // a block of keys in whole tiles

// Writes `width` elements times `scale` as float32, followed by zeros up to a whole vector.
template <class Element>
void pack_row(const Element* from, int64_t width, float scale, float* to) {
  int64_t i = 0;
  for (; i + kLanes <= width; i += kLanes) store(to + i, load(from + i) * scale);
  if (i == width) return;
  for (; i < width; ++i) to[i] = widened(from[i]) * scale;
  for (; i % kLanes != 0; ++i) to[i] = 0;
}

// Packs a left factor, or a right factor that is read by rows: [rows, kPitch] from [rows, width]. Fills further rows,
// up to a whole tile, with zeros.
template <class Element>
void pack_rows(HeadRows<const Element> from, int64_t rows, int64_t width, float scale, float* to) {
  for (int64_t i = 0; i < rows; ++i) pack_row(from[i], width, scale, to + i * kPitch);
  for (int64_t i = rows; i % kTileRows != 0; ++i) std::fill_n(to + i * kPitch, align_up(width, kLanes), 0.0F);
}

// Packs a right factor [rows, width] in panels of kTileColumns columns, [panels, kKeyBlock, kTileColumns].
template <class Element>
void pack_panels(HeadRows<const Element> from, int64_t rows, int64_t width, float scale, float* to) {
  for (int64_t k = 0; k < rows; ++k) {
    for (int64_t column = 0; column < width; column += kTileColumns) {
      pack_row(from[k] + column, std::min<int64_t>(kTileColumns, width - column), scale,
               to + column * kKeyBlock + k * kTileColumns);
    }
  }
}

// Packs the transpose of [rows, width] as a right factor [panels, width, kTileColumns]. Pads the columns of the last
// panel with zeros to a whole vector.
template <class Element>
void pack_panels_transposed(HeadRows<const Element> from, int64_t rows, int64_t width, float* to) {
  for (int64_t j = 0; j < rows; j += kLanes) {
    float* const panel = to + j / kTileColumns * width * kTileColumns + j % kTileColumns;
    const int64_t columns = std::min<int64_t>(kLanes, rows - j);
    int64_t k = 0;
    for (; columns == kLanes && k + kLanes <= width; k += kLanes) {
      std::array<Vector, kLanes> square;
      for (int i = 0; i < kLanes; ++i) square[static_cast<size_t>(i)] = load(from[j + i] + k);
      transpose(square);
      for (int i = 0; i < kLanes; ++i) store(panel + (k + i) * kTileColumns, square[static_cast<size_t>(i)]);
    }
    for (; k < width; ++k) {
      for (int64_t i = 0; i < kLanes; ++i) panel[k * kTileColumns + i] = i < columns ? widened(from[j + i][k]) : 0.0F;
    }
  }
}

}  // namespace laptime::LAPTIME_ISA::attention::tiles
