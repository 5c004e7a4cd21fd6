// CTile: the part of C that one micro-kernel call computes, and how its sums are stored with bias and addend.
#pragma once

#include <algorithm>

#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/gemm/tiles/pack.h"

namespace laptime::LAPTIME_ISA::gemm_tiles {

// c (rows, columns) = sums + bias + addend, rows ldc elements apart. At most one addend is set, and exactly one of `c`
// and `c_bf16`.
struct CTile {
  int64_t rows = 0, columns = 0;
  const float* bias = nullptr;  // kNr numbers, one for each column
  const float* addend = nullptr;
  const BFloat16* addend_bf16 = nullptr;
  int64_t ld_addend = 0;
  float* c = nullptr;
  BFloat16* c_bf16 = nullptr;
  int64_t ldc = 0;

  void advance(int64_t row_count) {
    if (addend != nullptr) addend += row_count * ld_addend;
    if (addend_bf16 != nullptr) addend_bf16 += row_count * ld_addend;
    if (c != nullptr) c += row_count * ldc;
    if (c_bf16 != nullptr) c_bf16 += row_count * ldc;
  }
};

// The float32 sums of a block of C between two kc chunks, for a bfloat16 C, which cannot hold them.
struct PartialSums {
  float* data = nullptr;
  int64_t ld = 0;
};

// The tile at (0, `column`) of a block for elements [k_begin, k_end) of K; rows and bias are left to be set. The first
// chunk adds the addend, so that C may be the same memory as the addend; later chunks add the sums of those before.
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
    tile.c_bf16 = reinterpret_cast<BFloat16*>(gemm.c) + position;
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
      tile.addend_bf16 = reinterpret_cast<const BFloat16*>(gemm.addend.data) + offset;
    }
  }
  return tile;
}

// The bias of `columns` columns of C from `column` on, rounded to the type that the product computes in.
using BiasRow = std::array<float, kNr>;
inline BiasRow bias_row(const cpu::Gemm& gemm, int64_t column, int64_t columns) {
  BiasRow bias{};
  for (int64_t j = 0; j < columns; ++j) {
    float& value = bias[static_cast<size_t>(j)];
    if (gemm.bias.dtype == DType::kBFloat16) {
      value = widened(reinterpret_cast<const BFloat16*>(gemm.bias.data)[column + j]);
    } else {
      value = reinterpret_cast<const float*>(gemm.bias.data)[column + j];
      if (gemm.compute == DType::kBFloat16) value = widened(RoundedToBFloat16{value});
    }
  }
  return bias;
}

namespace detail {

inline void store_scalars(const float* sums, const CTile& tile) {
  for (int64_t i = 0; i < tile.rows; ++i) {
    for (int64_t j = 0; j < tile.columns; ++j) {
      float total = sums[i * kNr + j];
      if (tile.bias != nullptr) total += tile.bias[j];
      if (tile.addend != nullptr) total += tile.addend[i * tile.ld_addend + j];
      if (tile.addend_bf16 != nullptr) total += widened(tile.addend_bf16[i * tile.ld_addend + j]);
      if (tile.c_bf16 != nullptr) {
        tile.c_bf16[i * tile.ldc + j] = narrowed<BFloat16>(total);
      } else {
        tile.c[i * tile.ldc + j] = total;
      }
    }
  }
}

inline void store_vectors(const float* sums, const CTile& tile) {
  for (int64_t i = 0; i < tile.rows; ++i) {
    for (int64_t j = 0; j < kNr; j += kLanes) {
      Vector total = load(sums + i * kNr + j);
      if (tile.bias != nullptr) total += load(tile.bias + j);
      if (tile.addend != nullptr) total += load(tile.addend + i * tile.ld_addend + j);
      if (tile.addend_bf16 != nullptr) total += load(tile.addend_bf16 + i * tile.ld_addend + j);
      if (tile.c_bf16 != nullptr) {
        store(tile.c_bf16 + i * tile.ldc + j, total);
      } else {
        store(tile.c + i * tile.ldc + j, total);
      }
    }
  }
}

}  // namespace detail

// `sums` holds rows of kNr numbers.
inline void store_c_tile(const float* sums, const CTile& tile) {
  tile.columns == kNr ? detail::store_vectors(sums, tile) : detail::store_scalars(sums, tile);
}

}  // namespace laptime::LAPTIME_ISA::gemm_tiles
