// CTile: the part of C that one micro-kernel call computes, and how its sums are stored with bias and addend.
#pragma once

#include <algorithm>

#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/gemm/tiles/pack.h"

namespace laptime::LAPTIME_ISA::gemm_tiles {

constexpr int64_t kNarrowSize = 2;  // bytes of an element of a 16-bit type

// c (rows, columns) = sums + bias + addend. Rows of c are ldc elements apart. At most one of `addend` and
// `narrow_addend` is set, and exactly one of `c` and `narrow_c`.
struct CTile {
  int64_t rows = 0, columns = 0;
  const float* bias = nullptr;  // kNr numbers, one for each column
  const float* addend = nullptr;
  const std::byte* narrow_addend = nullptr;
  int64_t ld_addend = 0;
  float* c = nullptr;
  std::byte* narrow_c = nullptr;
  DType narrow = DType::kBFloat16;  // the 16-bit type of narrow_addend and narrow_c
  int64_t ldc = 0;

  void advance(int64_t row_count) {
    if (addend != nullptr) addend += row_count * ld_addend;
    if (narrow_addend != nullptr) narrow_addend += row_count * ld_addend * kNarrowSize;
    if (c != nullptr) c += row_count * ldc;
    if (narrow_c != nullptr) narrow_c += row_count * ldc * kNarrowSize;
  }
};

// The float32 sums of a block of C between two kc chunks, if C has a 16-bit type and cannot hold them itself.
struct PartialSums {
  float* data = nullptr;
  int64_t ld = 0;
};

// The tile at (0, `column`) of a block for elements [k_begin, k_end) of K; the caller sets rows and bias. The first
// chunk adds the addend, and later chunks add the sums of the previous ones, so that the addend may share C's memory.
inline CTile c_tile(const cpu::Gemm& gemm, const cpu::GemmBlock& block, const PartialSums& partial, int64_t k_begin,
                    int64_t k_end, int64_t column) {
  const int64_t position = position_in_c(gemm.shape, block) + column;
  CTile tile{.columns = std::min<int64_t>(kNr, block.columns - column)};
  const bool wide = gemm.c_dtype == DType::kFloat32;
  float* const sums = wide ? reinterpret_cast<float*>(gemm.c) + position : partial.data + column;
  const int64_t ld_sums = wide ? gemm.shape.n : partial.ld;
  if (wide || k_end < gemm.shape.k) {
    tile.c = sums;
    tile.ldc = ld_sums;
  } else {
    tile.narrow_c = gemm.c + position * kNarrowSize;
    tile.narrow = gemm.c_dtype;
    tile.ldc = gemm.shape.n;
  }
  if (k_begin > 0) {
    tile.addend = sums;
    tile.ld_addend = ld_sums;
  } else if (gemm.addend.present) {
    const cpu::MatrixLayout& layout = gemm.addend_layout;
    const int64_t offset = block.batch * layout.batch_stride + block.row * layout.row_stride + block.column + column;
    tile.ld_addend = layout.row_stride;
    if (gemm.addend.dtype == DType::kFloat32) {
      tile.addend = reinterpret_cast<const float*>(gemm.addend.data) + offset;
    } else {
      tile.narrow_addend = gemm.addend.data + offset * kNarrowSize;
      tile.narrow = gemm.addend.dtype;
    }
  }
  return tile;
}

// The bias of `columns` columns of C starting at `column`, rounded to the type that the product computes in.
using BiasRow = std::array<float, kNr>;
inline BiasRow bias_row(const cpu::Gemm& gemm, int64_t column, int64_t columns) {
  BiasRow bias{};
  const auto read = [&](const auto* from) {
    for (int64_t j = 0; j < columns; ++j) bias[static_cast<size_t>(j)] = widened(from[column + j]);
  };
  const auto read_as = [&]<class Narrow>(const Narrow*) {
    if (gemm.bias.dtype == DType::kFloat32) {
      read(reinterpret_cast<const RoundedTo<Narrow>*>(gemm.bias.data));
    } else {
      read(reinterpret_cast<const Narrow*>(gemm.bias.data));
    }
  };
  const DType narrow = gemm.bias.dtype == DType::kFloat32 ? gemm.compute : gemm.bias.dtype;
  switch (narrow) {
    case DType::kBFloat16: read_as(static_cast<const BFloat16*>(nullptr)); break;
    case DType::kFloat16: read_as(static_cast<const Float16*>(nullptr)); break;
    default: read(reinterpret_cast<const float*>(gemm.bias.data));
  }
  return bias;
}

namespace detail {

template <class Narrow>
void store_scalars(const float* sums, const CTile& tile) {
  const auto* const narrow_addend = reinterpret_cast<const Narrow*>(tile.narrow_addend);
  auto* const narrow_c = reinterpret_cast<Narrow*>(tile.narrow_c);
  for (int64_t i = 0; i < tile.rows; ++i) {
    for (int64_t j = 0; j < tile.columns; ++j) {
      float total = sums[i * kNr + j];
      if (tile.bias != nullptr) total += tile.bias[j];
      if (tile.addend != nullptr) total += tile.addend[i * tile.ld_addend + j];
      if (narrow_addend != nullptr) total += widened(narrow_addend[i * tile.ld_addend + j]);
      if (narrow_c != nullptr) {
        narrow_c[i * tile.ldc + j] = narrowed<Narrow>(total);
      } else {
        tile.c[i * tile.ldc + j] = total;
      }
    }
  }
}

template <class Narrow>
void store_vectors(const float* sums, const CTile& tile) {
  const auto* const narrow_addend = reinterpret_cast<const Narrow*>(tile.narrow_addend);
  auto* const narrow_c = reinterpret_cast<Narrow*>(tile.narrow_c);
  for (int64_t i = 0; i < tile.rows; ++i) {
    for (int64_t j = 0; j < kNr; j += kLanes) {
      Vector total = load(sums + i * kNr + j);
      if (tile.bias != nullptr) total += load(tile.bias + j);
      if (tile.addend != nullptr) total += load(tile.addend + i * tile.ld_addend + j);
      if (narrow_addend != nullptr) total += load(narrow_addend + i * tile.ld_addend + j);
      if (narrow_c != nullptr) {
        store(narrow_c + i * tile.ldc + j, total);
      } else {
        store(tile.c + i * tile.ldc + j, total);
      }
    }
  }
}

template <class Narrow>
void store_tile(const float* sums, const CTile& tile) {
  tile.columns == kNr ? store_vectors<Narrow>(sums, tile) : store_scalars<Narrow>(sums, tile);
}

}  // namespace detail

// Stores the sums of a tile. `sums` contains rows of kNr numbers.
inline void store_c_tile(const float* sums, const CTile& tile) {
  tile.narrow == DType::kFloat16 ? detail::store_tile<Float16>(sums, tile) : detail::store_tile<BFloat16>(sums, tile);
}

}  // namespace laptime::LAPTIME_ISA::gemm_tiles
