// Cache blocking: chooses kc, mc and nc of a GEMM, and locates blocks of A and panels of B in memory.
#pragma once

#include <algorithm>

#include "backend/cpu/cores.h"
#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/gemm/tiles/pack.h"
#include "backend/cpu/gemm/tiles/prefetcher.h"
#include "backend/cpu/team.h"

namespace laptime::LAPTIME_ISA::gemm_tiles {

// Returns the size of the kc chunks of K: equal chunks of at most `max_kc`, rounded up to a multiple of `multiple`. The
// size depends only on K, so neither the order of additions nor the bits of the result depend on the number of threads.
inline int64_t kc_of(int64_t k, int64_t max_kc, int64_t multiple) {
  const int64_t chunks = std::max<int64_t>(1, ceil_div(k, max_kc));
  return align_up(ceil_div(k, chunks), multiple);
}
template <class Words>
int64_t kc_of(int64_t k) {
  return kc_of(k, kMaxKc<Words>, 16);
}

// The number of panels in a packed block of A: as many as fit into `percent` percent of a core's L2 cache, but at least
// 4 and at most `max_panels`.
inline int64_t a_panels_per_block(int64_t panel_bytes, int percent, int64_t max_panels) {
  return std::clamp<int64_t>(cpu::second_level_cache() * percent / 100 / panel_bytes, 4, max_panels);
}

// How a thread's scratch is divided: one panel of B, one block of A and, if C has a 16-bit type and K has several
// chunks, the partial sums of the block of C.
struct ScratchLayout {
  static constexpr int64_t kBPanelFloats = kMaxKcWords * kNr;
  static constexpr int64_t kFloats = cpu::Team::kScratchBytes / 4;

  int64_t a_panels = 0;         // panels in a block of A
  int64_t partial_columns = 0;  // width of the partial sums; nc must not exceed it
  explicit ScratchLayout(bool has_partial_sums) {
    constexpr int kCachePercent = 50;
    constexpr int64_t kMaxAPanels = 40;
    a_panels = a_panels_per_block(4 * kAPanelFloats, kCachePercent, kMaxAPanels);
    partial_columns = INT64_MAX / 2;
    if (has_partial_sums)
      partial_columns = (kFloats - kBPanelFloats - a_panels * kAPanelFloats) / (a_panels * kMr) / kNr * kNr;
  }
};

// Limits on the blocks of C, and their overhead. Packing A costs as much as `pack_a` additional columns, packing B as
// much as `pack_b` additional rows, and scheduling a block as much as `per_block` multiply-adds.
struct BlockingCosts {
  int64_t max_mc = 0, max_nc = 0;
  int64_t row_multiple = 2;
  double pack_a = 24, pack_b = 12;
  double per_block = 3e5;
};

// Divides C into the mc x nc blocks that minimise the time on `threads` threads according to these costs. Unlike other
// divisions of work, this division may depend on the number of threads, because results do not depend on the blocks:
// the kc chunks depend only on K.
inline cpu::GemmCut cut_for(const cpu::GemmShape& shape, const BlockingCosts& costs, int threads) {
  constexpr double kTail = 0.05;  // time spent waiting for the last thread, as a fraction of a block's time
  const int64_t min_row_blocks = ceil_div(shape.m, costs.max_mc);
  const int64_t min_column_blocks = ceil_div(shape.n, costs.max_nc);
  double best = 0;
  int64_t best_mc = 0;
  int64_t best_nc = 0;
  const auto consider = [&](int64_t row_blocks, int64_t column_blocks) {
    const int64_t mc = align_up(ceil_div(shape.m, row_blocks), costs.row_multiple);
    const int64_t nc = align_up(ceil_div(shape.n, column_blocks), kNr);
    const int64_t count = shape.batches * ceil_div(shape.m, mc) * ceil_div(shape.n, nc);
    const double block = static_cast<double>(mc * nc) *
                             (1 + costs.pack_a / static_cast<double>(nc) + costs.pack_b / static_cast<double>(mc)) *
                             static_cast<double>(shape.k) +
                         costs.per_block;
    const double time = (static_cast<double>(ceil_div(count, threads)) + kTail) * block;
    if (best_mc > 0 && time >= best) return;
    best = time;
    best_mc = mc;
    best_nc = nc;
  };
  const int64_t max_row_blocks = std::min(min_row_blocks + threads, ceil_div(shape.m, costs.row_multiple));
  for (int64_t row_blocks = min_row_blocks; row_blocks <= std::max(max_row_blocks, min_row_blocks); ++row_blocks) {
    consider(row_blocks, min_column_blocks);
    for (int64_t rounds = 1; rounds <= 4; ++rounds) {
      const int64_t column_blocks = ceil_div(rounds * threads, shape.batches * row_blocks);
      if (column_blocks > min_column_blocks && column_blocks <= ceil_div(shape.n, kNr))
        consider(row_blocks, column_blocks);
    }
  }
  return {shape, {.rows = best_mc, .columns = best_nc, .row_multiple = costs.row_multiple, .column_multiple = kNr}};
}

// Describes rows [k, k + kc) and columns [column, column + nr) of the part of B that a block reads.
inline BPanelSource b_panel_source(const cpu::Gemm& gemm, const cpu::GemmBlock& block, int64_t k, int64_t kc,
                                   int64_t column) {
  const cpu::MatrixLayout& b = gemm.shape.b;
  const int64_t position = position_in_b(gemm.shape, block) + k * b.row_stride + column * b.column_stride;
  return {.data = gemm.b.data + position * size_of(gemm.b.dtype),
          .strides = {b.row_stride, b.column_stride},
          .kc = kc,
          .columns = std::min<int64_t>(kNr, block.columns - column)};
}

// Describes columns [k, k + kc) of the part of A that a block reads.
inline ABlockSource a_block_source(const cpu::Gemm& gemm, const cpu::GemmBlock& block, int64_t k, int64_t kc) {
  const cpu::MatrixLayout& a = gemm.shape.a;
  const int64_t position = position_in_a(gemm.shape, block) + k * a.column_stride;
  return {.data = gemm.a.data + position * size_of(gemm.a.dtype),
          .strides = {a.row_stride, a.column_stride},
          .rows = block.rows,
          .kc = kc,
          .readable = gemm.shape.m - block.row};
}

// Returns a prefetcher of the panel of B that starts at `column`; it is empty if neither the rows nor the columns of
// the panel are contiguous, or if there are no columns.
inline ReadPrefetcher b_panel_prefetcher(const cpu::Gemm& gemm, const cpu::GemmBlock& block, int64_t k, int64_t kc,
                                         int64_t column) {
  const BPanelSource source = b_panel_source(gemm, block, k, kc, column);
  const int64_t size = size_of(gemm.b.dtype);
  if (source.columns <= 0) return {};
  if (source.strides.column == 1) return {source.data, source.kc, source.columns * size, source.strides.row * size};
  if (source.strides.row == 1) return {source.data, source.columns, source.kc * size, source.strides.column * size};
  return {};
}

}  // namespace laptime::LAPTIME_ISA::gemm_tiles
