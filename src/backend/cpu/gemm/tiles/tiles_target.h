// Where the sums of a tile go, and what is added to them on the way.
#pragma once

#include <algorithm>

#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/gemm/tiles/tiles_pack.h"

namespace laptime::LAPTIME_ISA {

// What a tile's sums are added to, and where the total goes: one of `c` and `narrow`.
struct TileTarget {
  int64_t rows = 0, columns = 0;
  const float* bias = nullptr;  // kTileColumns numbers
  // A matrix to add, of float32 or bfloat16 (at most one).
  const float* addend = nullptr;
  const Brain* narrow_addend = nullptr;
  int64_t addend_pitch = 0;
  float* c = nullptr;
  Brain* narrow = nullptr;
  int64_t pitch = 0;

  void advance(int64_t tile_rows) {
    if (addend != nullptr) addend += tile_rows * addend_pitch;
    if (narrow_addend != nullptr) narrow_addend += tile_rows * addend_pitch;
    if (c != nullptr) c += tile_rows * pitch;
    if (narrow != nullptr) narrow += tile_rows * pitch;
  }
};

// A block's sums in float32 where c cannot hold them between two chunks of K.
struct SumsBetween {
  float* first = nullptr;
  int64_t pitch = 0;
};

// Of the tile at (0, `column`) of a block, without its rows and its bias, after elements [first, end) of K. The first
// chunk adds the addend, so that c may stand in its place; the others add what was summed before.
inline TileTarget tile_target(const cpu::Gemm& gemm, const cpu::GemmBlock& block, const SumsBetween& sums,
                              int64_t first, int64_t end, int64_t column) {
  const int64_t position = position_in_c(gemm.shape, block) + column;
  TileTarget to{.columns = std::min<int64_t>(kTileColumns, block.columns - column)};
  const bool wide = gemm.c_dtype == DType::kFloat32;
  float* const between = wide ? reinterpret_cast<float*>(gemm.c) + position : sums.first + column;
  const int64_t pitch_between = wide ? gemm.shape.n : sums.pitch;
  if (wide || end < gemm.shape.k) {
    to.c = between;
    to.pitch = pitch_between;
  } else {
    to.narrow = reinterpret_cast<Brain*>(gemm.c) + position;
    to.pitch = gemm.shape.n;
  }
  if (first > 0) {
    to.addend = between;
    to.addend_pitch = pitch_between;
  } else if (gemm.addend.present) {
    const cpu::MatrixLayout& layout = gemm.addend_layout;
    const int64_t at = block.batch * layout.batch_stride + block.row * layout.row_stride + block.column + column;
    to.addend_pitch = layout.row_stride;
    if (gemm.addend.dtype == DType::kFloat32) {
      to.addend = reinterpret_cast<const float*>(gemm.addend.data) + at;
    } else {
      to.narrow_addend = reinterpret_cast<const Brain*>(gemm.addend.data) + at;
    }
  }
  return to;
}

// The bias of `columns` columns from one of c on, as the product rounds it.
using TileBias = std::array<float, kTileColumns>;
inline TileBias tile_bias(const cpu::Gemm& gemm, int64_t column, int64_t columns) {
  TileBias bias{};
  for (int64_t j = 0; j < columns; ++j) {
    float& value = bias[static_cast<size_t>(j)];
    if (gemm.bias.dtype == DType::kBFloat16) {
      value = widened(reinterpret_cast<const Brain*>(gemm.bias.data)[column + j]);
    } else {
      value = reinterpret_cast<const float*>(gemm.bias.data)[column + j];
      if (gemm.compute == DType::kBFloat16) value = widened(Rounded{value});
    }
  }
  return bias;
}

namespace detail {

inline void store_any(const float* sums, const TileTarget& to) {
  for (int64_t i = 0; i < to.rows; ++i) {
    for (int64_t j = 0; j < to.columns; ++j) {
      float total = sums[i * kTileColumns + j];
      if (to.bias != nullptr) total += to.bias[j];
      if (to.addend != nullptr) total += to.addend[i * to.addend_pitch + j];
      if (to.narrow_addend != nullptr) total += widened(to.narrow_addend[i * to.addend_pitch + j]);
      if (to.narrow != nullptr) {
        to.narrow[i * to.pitch + j] = narrowed<Brain>(total);
      } else {
        to.c[i * to.pitch + j] = total;
      }
    }
  }
}

inline void store_whole_columns(const float* sums, const TileTarget& to) {
  for (int64_t i = 0; i < to.rows; ++i) {
    for (int64_t j = 0; j < kTileColumns; j += kLanes) {
      Vector total = load(sums + i * kTileColumns + j);
      if (to.bias != nullptr) total += load(to.bias + j);
      if (to.addend != nullptr) total += load(to.addend + i * to.addend_pitch + j);
      if (to.narrow_addend != nullptr) total += load(to.narrow_addend + i * to.addend_pitch + j);
      if (to.narrow != nullptr) {
        store(to.narrow + i * to.pitch + j, total);
      } else {
        store(to.c + i * to.pitch + j, total);
      }
    }
  }
}

}  // namespace detail

// Rows of kTileColumns sums.
inline void store_sums(const float* sums, const TileTarget& to) {
  to.columns == kTileColumns ? detail::store_whole_columns(sums, to) : detail::store_any(sums, to);
}

}  // namespace laptime::LAPTIME_ISA
