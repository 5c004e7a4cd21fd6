// The factors of attention, packed as bfloat16 pairs, and products that are added to 32 x 32 tiles of sums.
#pragma once

#include "ops/scaled_dot_product_attention/key_parts_cpu.h"
#include "ops/scaled_dot_product_attention/pairs/units_cpu.h"

namespace laptime::LAPTIME_ISA::attention::pairs {

using gemm_amx::kMicroTile;
using gemm_amx::kTile;
using gemm_amx::kTileK;

// Rows of scores are kPitch floats apart. This is not a power of two, so that rows do not share cache sets.
constexpr int64_t kPitch = kKeyBlock + kLanes;

// The bfloat16 terms into which factors are split: `Operand` for operands in memory, `Score` for weights and score
// gradients, which are computed in float32.
template <class Element, class Unit>
struct FactorTerms {
  using Operand = gemm_amx::OneTerm<BFloat16>;
  using Score = typename Unit::Computed;
};
template <class Unit>
struct FactorTerms<float, Unit> {
  using Operand = gemm_amx::ThreeTerms;
  using Score = gemm_amx::ThreeTerms;
};

inline int64_t steps_of(int64_t depth) { return ceil_div(depth, kTileK); }

// A packed factor: a left factor in panels of 32 rows, or a right factor in panels of 32 columns. Each panel has
// `steps` steps of K.
template <class Terms>
struct Panels {
  static constexpr int64_t kStepFloats = Terms::kTerms * gemm_amx::kPanelStepWords;

  float* data = nullptr;
  int64_t steps = 0;

  float* at(int64_t panel, int64_t step = 0) const { return data + (panel * steps + step) * kStepFloats; }
  // The number of floats for a factor with `lines` rows (or columns) and `depth` elements of K.
  static int64_t floats(int64_t lines, int64_t depth) {
    return ceil_div(lines, kMicroTile) * steps_of(depth) * kStepFloats;
  }

  static Panels pack_left(const gemm_amx::ABlockSource& source, float* to) {
    const Panels panels{to, steps_of(source.kc)};
    alignas(64) gemm_amx::TransposeBuffer buffer;
    for (int64_t row = 0; row < align_up(source.rows, kMicroTile); row += kTile) {
      float* tile =
          to + row / kMicroTile * panels.steps * kStepFloats + row % kMicroTile / kTile * gemm_amx::kTileWords;
      for (int64_t k = 0; k < source.kc; k += kTileK, tile += kStepFloats)
        for (int64_t piece = 0; piece < Terms::kPieces; ++piece)
          gemm_amx::pack_a_tile<Terms>(source, row, k, piece, buffer.data(), tile);
    }
    return panels;
  }
  static Panels pack_right(const gemm_amx::BPanelSource& source, float* to) {
    const Panels panels{to, steps_of(source.kc)};
    alignas(64) gemm_amx::TransposeBuffer buffer;
    for (int64_t column = 0; column < align_up(source.columns, kMicroTile); column += kTile) {
      float* tile = to + column / kMicroTile * panels.steps * kStepFloats + column % kMicroTile;
      for (int64_t k = 0; k < source.kc; k += kTileK, tile += kStepFloats)
        for (int64_t piece = 0; piece < Terms::kPieces; ++piece)
          gemm_amx::pack_b_tile<Terms>(source, column, k, piece, buffer.data(), tile);
    }
    return panels;
  }
};

// The following functions describe rows [first, first + rows) of a head, a matrix X [rows, width], as a factor to pack.

// X as a left factor.
template <class Element>
gemm_amx::ABlockSource left_factor(const HeadRows<const Element>& head, int64_t first, int64_t rows, int64_t width) {
  return {reinterpret_cast<const std::byte*>(head[first]), {head.stride, 1}, rows, width, rows};
}
// X^T as a left factor.
template <class Element>
gemm_amx::ABlockSource left_factor_transposed(const HeadRows<const Element>& head, int64_t first, int64_t rows,
                                              int64_t width) {
  return {reinterpret_cast<const std::byte*>(head[first]), {1, head.stride}, width, rows, width};
}
// X as a right factor.
template <class Element>
gemm_amx::BPanelSource right_factor(const HeadRows<const Element>& head, int64_t first, int64_t rows, int64_t width) {
  return {reinterpret_cast<const std::byte*>(head[first]), {head.stride, 1}, rows, width};
}
// X^T as a right factor.
template <class Element>
gemm_amx::BPanelSource right_factor_transposed(const HeadRows<const Element>& head, int64_t first, int64_t rows,
                                               int64_t width) {
  return {reinterpret_cast<const std::byte*>(head[first]), {1, head.stride}, width, rows};
}

// A 32 x 32 tile of sums whose rows are `pitch` floats apart. The product is added to it or overwrites it.
inline gemm_amx::MicroTile square_at(float* sums, int64_t pitch, bool add) {
  return {.from = add ? sums : nullptr, .ld_from = pitch, .to = sums, .ld_to = pitch};
}

// How often the micro-kernel calls Interleaved::run_due() per step along K: once per pair of terms.
template <class Left, class Right>
constexpr int64_t kSlots = gemm_amx::kTermPairs<Left::kTerms, Right::kTerms>.size();

// A writer for Terms::along_k. It writes 32 columns of row `row` of a left panel; `step` points to a step of K.
inline auto left_row(float* step, int64_t row) {
  float* const to = step + row / kTile * gemm_amx::kTileWords;
  return [to](int64_t term, int64_t line, const Vector& words) {
    store(to + term * gemm_amx::kPanelStepWords + line * kTile, words);
  };
}
// A writer for Terms::across_k. It writes 16 columns, starting at `column`, of two rows of a right panel.
inline auto right_columns(float* step, int64_t column) {
  return [to = step + column](int64_t term, int64_t pair, const Vector& words) {
    store(to + term * gemm_amx::kPanelStepWords + pair * kMicroTile, words);
  };
}

}  // namespace laptime::LAPTIME_ISA::attention::pairs
