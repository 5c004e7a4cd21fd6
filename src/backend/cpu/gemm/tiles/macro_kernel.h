// The macro-kernel: one thread computes one mc x nc block of C over all of K. For each kc chunk it packs the block of
// A, and each panel of B just before its first use, and runs the micro-kernel over all pairs of panels (Goto and van de
// Geijn 2008, with one packed block of A per thread).
#pragma once

#include <algorithm>

#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/gemm/tiles/blocking.h"
#include "backend/cpu/gemm/tiles/micro_kernel.h"
#include "backend/cpu/gemm/tiles/work_sharing.h"
#include "backend/cpu/team.h"

namespace laptime::LAPTIME_ISA::gemm_tiles {

// A GEMM and how it is computed; shared by all threads.
struct Task {
  const cpu::Gemm& gemm;
  ScratchLayout scratch;
  PackA pack_a;
  PackB pack_b;
  int64_t kc = 0;
};

template <class Words>
class MacroKernel {
 public:
  using Queue = PanelQueue<MacroKernel>;
  static constexpr int64_t kPanelColumns = kNr;

  MacroKernel(const Task& task, const cpu::GemmBlock& block, std::byte* scratch)
      : task_(task), gemm_(task.gemm), block_(block), panels_(block.rows) {
    b_panel_ = reinterpret_cast<float*>(scratch);
    a_block_ = b_panel_ + ScratchLayout::kBPanelFloats;
    partial_sums_ = a_block_ + task.scratch.a_panels * kAPanelFloats;
  }

  void run(Queue& queue) {
    int64_t k = 0;
    do {  // also runs once for K = 0, where C is only bias and addend
      add_chunk(k, std::min(task_.kc, gemm_.shape.k - k), queue);
      k += task_.kc;
    } while (k < gemm_.shape.k);
  }

  // Multiplies panels of B for another thread's block until none are left. `scratch` belongs to the helping thread.
  static void help(Queue& queue, std::byte* scratch) {
    queue.join();
    for (typename Queue::Panel panel = queue.take(); panel.block != nullptr; panel = queue.take()) {
      ReadPrefetcher none;
      panel.block->multiply_panel(panel.k, panel.kc, panel.index * kNr,
                                  {.b_panel = reinterpret_cast<float*>(scratch), .a_prefetches = &none});
    }
    queue.leave();
  }

 private:
  struct PanelOptions {
    float* b_panel = nullptr;  // where to pack the panel of B
    bool packs_a = false;      // whether to pack each panel of A before its first product
    ReadPrefetcher* a_prefetches = nullptr;
  };

  void add_chunk(int64_t k, int64_t kc, Queue& queue) {
    const cpu::GemmShape& shape = gemm_.shape;
    source_ = a_block_source(gemm_, block_, k, kc);
    // If the rows of A are contiguous, its panels are packed one by one, between the products with the first panel of
    // B.
    const bool packs_by_panel = shape.a.column_stride == 1;
    if (!packs_by_panel) {
      task_.pack_a.block(source_, panels_, a_block_);
      const int64_t next = k + kc;
      a_prefetches_ =
          next < shape.k ? a_columns_prefetcher(a_block_source(gemm_, block_, next, std::min(task_.kc, shape.k - next)))
                         : ReadPrefetcher();
    }
    PanelOptions options{.b_panel = b_panel_, .packs_a = packs_by_panel, .a_prefetches = &a_prefetches_};
    multiply_panel(k, kc, 0, options);
    options.packs_a = false;
    queue.open(this, k, kc, 1, ceil_div(block_.columns, kNr));
    for (typename Queue::Panel panel = queue.take(); panel.block != nullptr; panel = queue.take())
      multiply_panel(k, kc, panel.index * kNr, options);
    queue.close();
  }

  // Returns a prefetcher of a block of A; it is empty if the columns are not contiguous.
  ReadPrefetcher a_columns_prefetcher(const ABlockSource& source) const {
    const int64_t size = size_of(gemm_.a.dtype);
    if (source.strides.row != 1) return {};
    return {source.data, source.kc, source.rows * size, source.strides.column * size};
  }
  // Returns a prefetcher of the rows of one panel of A; it is empty if there is no such panel.
  ReadPrefetcher a_rows_prefetcher(int64_t panel) const {
    const int64_t size = size_of(gemm_.a.dtype);
    if (panel >= panels_.count()) return {};
    return {source_.data + panels_.first_row(panel) * source_.strides.row * size,
            std::min(panels_.rows(panel), source_.rows - panels_.first_row(panel)), source_.kc * size,
            source_.strides.row * size};
  }

  // Multiplies all panels of the block of A by the panel of B that starts at `column`.
  void multiply_panel(int64_t k, int64_t kc, int64_t column, const PanelOptions& options) {
    const BPanelSource source = b_panel_source(gemm_, block_, k, kc, column);
    const bool packs_in_kernel =
        source.columns == kNr && source.strides.column == 1 && kc % Words::kSpan == 0 && panels_.rows(0) == kMr;
    if (!packs_in_kernel) task_.pack_b.panel(source, options.b_panel);
    const int64_t kc_words = ceil_div(kc, Words::kSpan);
    const int64_t intervals = std::max<int64_t>(1, kc_words / kPrefetchInterval);
    const int64_t b_panels_left = ceil_div(block_.columns - column, kNr);  // including the current one
    ReadPrefetcher next_b = b_panel_prefetcher(gemm_, block_, k, kc, column + kNr);
    constexpr int64_t kMaxLines = 4;  // cache lines per interval
    Prefetches prefetches{.b_panel = &next_b,
                          .b_lines = std::min(kMaxLines, ceil_div(next_b.lines(), intervals * panels_.count())),
                          .a_block = options.a_prefetches,
                          .c_lines = ceil_div(int64_t{3} * kMr, intervals)};
    if (options.packs_a) {
      prefetches.a_lines = ceil_div(a_rows_prefetcher(0).lines() + kMr, intervals);
    } else if (constexpr int64_t kLastPanels = 6; b_panels_left <= kLastPanels) {
      // Prefetches the next block of A only now, because an earlier prefetch would evict the current block from the
      // cache.
      prefetches.a_lines =
          std::min(kMaxLines, ceil_div(options.a_prefetches->lines(), intervals * panels_.count() * b_panels_left));
    }
    CTile tile = c_tile(gemm_, block_, {partial_sums_, task_.scratch.partial_columns}, k, k + kc, column);
    alignas(64) BiasRow bias{};
    if (k == 0 && gemm_.bias.present) {
      bias = bias_row(gemm_, block_.column + column, tile.columns);
      tile.bias = bias.data();
    }
    for (int64_t panel = 0; panel < panels_.count(); ++panel) {
      const int64_t rows = panels_.rows(panel);
      tile.rows = std::min(rows, block_.rows - panels_.first_row(panel));
      float* const a_panel = a_block_ + panel * kAPanelFloats;
      if (options.packs_a) {
        task_.pack_a.panel(source_, panels_, panel, a_panel);
        *options.a_prefetches = a_rows_prefetcher(panel + 1);
      }
      if (panel == 0 && packs_in_kernel) {
        task_.pack_b.panel_and_multiply(a_panel, source, options.b_panel, tile, prefetches);
      } else {
        micro_kernel_of<Words>(rows)(a_panel, PackedBPanel(options.b_panel), kc_words, tile, prefetches);
      }
      tile.advance(tile.rows);
    }
  }

  const Task& task_;
  const cpu::Gemm& gemm_;
  const cpu::GemmBlock& block_;
  RowPanels panels_;
  ABlockSource source_;
  ReadPrefetcher a_prefetches_;
  float* b_panel_ = nullptr;
  float* a_block_ = nullptr;
  float* partial_sums_ = nullptr;
};

}  // namespace laptime::LAPTIME_ISA::gemm_tiles
