// Our GEMM with AMX tiles, for bfloat16 or for float32 as three bfloat16 terms.
#include <immintrin.h>

#include "backend/cpu/gemm/amx/interleaved_work.h"
#include "backend/cpu/gemm/amx/micro_kernel.h"
#include "backend/cpu/gemm/bfloat16_pairs.h"
#include "backend/cpu/gemm/tiles/blocking.h"
#include "backend/cpu/gemm/tiles/micro_kernel.h"
#include "backend/cpu/gemm/tiles/work_sharing.h"

namespace laptime::LAPTIME_ISA {
namespace gemm_amx {
namespace {

using gemm_tiles::a_block_source;
using gemm_tiles::b_panel_prefetcher;
using gemm_tiles::b_panel_source;
using gemm_tiles::bias_row;
using gemm_tiles::BiasRow;
using gemm_tiles::PanelQueue;
using gemm_tiles::PartialSums;

// Limit on kc times the number of terms, so that a panel of B and a block of A stay in the L2 cache.
constexpr int64_t kMaxKcTerms = 768;
constexpr int64_t kPanelWords = kMaxKcTerms / kTileK * kPanelStepWords;
using MicroTileSums = std::array<float, static_cast<size_t>(kMicroTile) * kMicroTile>;

using MicroKernel = void (*)(const float* a, const float* b, int64_t steps, const MicroTile& tile,
                             InterleavedWork& work);
template <int64_t kTerms>
LAPTIME_AMX void interleaved_micro_kernel(const float* a, const float* b, int64_t steps, const MicroTile& tile,
                                          InterleavedWork& work) {
  micro_kernel<kTerms, kTerms>(a, b, steps, tile, [&] { work.advance(); });
}

// A GEMM and how it is computed; shared by all threads.
struct Task {
  const cpu::Gemm& gemm;
  PackTiles pack;
  MicroKernel micro_kernel;
  int64_t calls_per_step = 1;  // number of InterleavedWork::advance() calls per step of K
  int64_t kc = 0;
  int64_t a_panels = 0;         // panels in a block of A
  int64_t partial_columns = 0;  // width of the partial sums; nc must not exceed it
};

// Double buffers of a thread: the thread packs the next panel of B while it multiplies by the current one, and stores
// the previous micro-tile while it computes the current one.
class ThreadState {
 public:
  static constexpr int64_t kPanels = 2;  // two buffers at the start of the thread's scratch

  explicit ThreadState(std::byte* scratch) : panel_(reinterpret_cast<float*>(scratch)), next_(panel_ + kPanelWords) {}

  const float* b_panel() const { return panel_; }
  float* next_b_panel() const { return next_; }
  void swap_panels() { std::swap(panel_, next_); }

  DeferredStore store;
  MicroTileSums& swap_sums() {
    current_ = 1 - current_;
    return sums_[static_cast<size_t>(current_)];
  }

 private:
  float* panel_;
  float* next_;
  int current_ = 0;
  alignas(64) std::array<MicroTileSums, 2> sums_;
};

// Computes one mc x nc block of C over all of K.
class MacroKernel {
 public:
  using Queue = PanelQueue<MacroKernel>;
  static constexpr int64_t kPanelColumns = kMicroTile;

  MacroKernel(const Task& task, const cpu::GemmBlock& block, std::byte* scratch)
      : task_(task), gemm_(task.gemm), block_(block), panels_(ceil_div(block.rows, kMicroTile)), scratch_(scratch) {
    a_block_ = reinterpret_cast<float*>(scratch) + ThreadState::kPanels * kPanelWords;
    partial_sums_ = {a_block_ + task.a_panels * kPanelWords, task.partial_columns};
  }

  void run(Queue& queue) {
    configure_tiles();
    int64_t k = 0;
    do {  // also runs once for K = 0, where C is only bias and addend
      const int64_t kc = std::min(task_.kc, gemm_.shape.k - k);
      pack_a(a_block_source(gemm_, block_, k, kc));
      queue.open(this, k, kc, 0, ceil_div(block_.columns, kMicroTile));
      multiply_panels(queue, queue.take(), scratch_);
      queue.close();
      k += task_.kc;
    } while (k < gemm_.shape.k);
    release_tiles();
  }

  // Multiplies panels of B for another thread's block until none are left. `scratch` belongs to the helping thread.
  static void help(Queue& queue, std::byte* scratch) {
    queue.join();
    if (const Queue::Panel panel = queue.take(); panel.block != nullptr) {
      configure_tiles();
      multiply_panels(queue, panel, scratch);
      release_tiles();
    }
    queue.leave();
  }

 private:
  // Multiplies `panel`, and then further panels until none are left. All of them belong to the same block and kc chunk.
  static void multiply_panels(Queue& queue, Queue::Panel panel, std::byte* scratch) {
    if (panel.block == nullptr) return;
    ThreadState thread(scratch);
    BPanelPacker first = panel.block->packer(panel, thread.next_b_panel());
    first.pack(first.left());
    while (panel.block != nullptr) {
      thread.swap_panels();
      const Queue::Panel next = queue.take();
      panel.block->multiply_panel(thread, panel, next);
      panel = next;
    }
    thread.store.store_rows(kMicroTile);
  }

  BPanelPacker packer(const Queue::Panel& panel, float* to) const {
    if (panel.block == nullptr) return {};
    return {task_.pack, b_panel_source(gemm_, block_, panel.k, panel.kc, panel.index * kMicroTile), to};
  }

  // Packs tile by tile along K. If the columns of A are contiguous, all tiles advance along K together, because two
  // tiles may share a cache line of A.
  void pack_a(const ABlockSource& source) const {
    const int64_t tiles = 2 * panels_;
    alignas(64) TransposeBuffer buffer;
    const auto pack = [&](int64_t tile, int64_t k) {
      float* const panel = a_block_ + tile / 2 * kPanelWords + tile % 2 * kTileWords;
      for (int64_t piece = 0; piece < task_.pack.pieces; ++piece)
        task_.pack.a_tile(source, tile * kTile, k, piece, buffer.data(),
                          panel + k / kTileK * task_.pack.terms * kPanelStepWords);
    };
    if (source.strides.row != 1) {
      for (int64_t tile = 0; tile < tiles; ++tile)
        for (int64_t k = 0; k < source.kc; k += kTileK) pack(tile, k);
      return;
    }
    for (int64_t k = 0; k < source.kc; k += kTileK)
      for (int64_t tile = 0; tile < tiles; ++tile) pack(tile, k);
  }

  // The first micro-tile of a panel.
  CTile first_tile(const Queue::Panel& panel) const {
    CTile tile = c_tile(gemm_, block_, partial_sums_, panel.k, panel.k + panel.kc, panel.index * kMicroTile);
    tile.rows = std::min(kMicroTile, block_.rows);
    return tile;
  }

  static void prefetch_next(InterleavedWork& work, const CTile& tile) {
    work.c = c_prefetcher(tile);
    work.addend = {};
    if (tile.addend != nullptr && tile.addend != tile.c)
      work.addend = {tile.addend, tile.rows, tile.columns * int64_t{sizeof(float)},
                     tile.ld_addend * int64_t{sizeof(float)}};
  }

  // True if the AMX tiles can be loaded directly from the addend or the bias, and stored directly to C.
  static bool in_place(const CTile& tile) {
    return tile.c != nullptr && tile.rows == kMicroTile && tile.columns == kMicroTile &&
           tile.narrow_addend == nullptr && (tile.bias == nullptr || tile.addend == nullptr);
  }

  // Multiplies all panels of the block of A by one panel of B, and meanwhile packs panel `next` of B.
  void multiply_panel(ThreadState& thread, const Queue::Panel& panel, const Queue::Panel& next) {
    const int64_t steps = ceil_div(panel.kc, kTileK);
    BPanelPacker next_packer = packer(next, thread.next_b_panel());
    ReadPrefetcher after_next =
        b_panel_prefetcher(gemm_, block_, panel.k, panel.kc, (std::max(next.index, panel.index) + 1) * kMicroTile);
    const int64_t calls = std::max<int64_t>(1, steps * task_.calls_per_step);  // calls per micro-tile
    const int64_t all_calls = calls * panels_;
    InterleavedWork work{
        .store = &thread.store,
        .store_rows = ceil_div(kMicroTile, calls),
        .packer = &next_packer,
        .pieces = ceil_div(next_packer.left(), all_calls),
        .calls_per_packing = std::clamp<int64_t>(all_calls / std::max<int64_t>(1, next_packer.left()), 1, calls),
        .c = {},
        .addend = {},
        .c_lines = ceil_div(2 * kMicroTile, calls),
        .b_panel = &after_next,
        .b_lines = ceil_div(after_next.lines(), all_calls)};
    CTile tile = first_tile(panel);
    alignas(64) BiasRow bias{};
    if (panel.k == 0 && gemm_.bias.present) {
      bias = bias_row(gemm_, block_.column + panel.index * kMicroTile, tile.columns);
      tile.bias = bias.data();
    }
    for (int64_t i = 0; i < panels_; ++i) {
      CTile next_tile = tile;
      next_tile.advance(tile.rows);
      next_tile.rows = std::min(kMicroTile, block_.rows - (i + 1) * kMicroTile);
      if (i + 1 < panels_) {
        prefetch_next(work, next_tile);
      } else if (next.block != nullptr) {
        prefetch_next(work, first_tile(next));
      } else {
        prefetch_next(work, {});
      }
      const float* const a_panel = a_block_ + i * kPanelWords;
      if (in_place(tile)) {
        const bool has_bias = tile.bias != nullptr;
        task_.micro_kernel(a_panel, thread.b_panel(), steps,
                           {.from = has_bias ? tile.bias : tile.addend,
                            .ld_from = has_bias ? 0 : tile.ld_addend,
                            .to = tile.c,
                            .ld_to = tile.ldc},
                           work);
      } else {
        MicroTileSums& sums = thread.swap_sums();
        task_.micro_kernel(a_panel, thread.b_panel(), steps, {.to = sums.data(), .ld_to = kMicroTile}, work);
        thread.store.store_rows(kMicroTile);
        thread.store.begin(sums.data(), tile);
      }
      tile = next_tile;
    }
    if (tile.bias != nullptr) thread.store.store_rows(kMicroTile);  // finishes storing before `bias` goes out of scope
    next_packer.pack(next_packer.left());
  }

  const Task& task_;
  const cpu::Gemm& gemm_;
  const cpu::GemmBlock& block_;
  int64_t panels_;  // number of panels in the block of A
  std::byte* scratch_;
  float* a_block_ = nullptr;
  PartialSums partial_sums_;
};

Task task_for(const cpu::Gemm& gemm) {
  const bool a_bf16 = gemm.a.dtype == DType::kBFloat16;
  const bool b_bf16 = gemm.b.dtype == DType::kBFloat16;
  using Stored = OneTerm<BFloat16>;
  using Rounded = OneTerm<RoundedTo<BFloat16>>;
  Task task{.gemm = gemm,
            .pack = kPackTiles<ThreeTerms, ThreeTerms>,
            .micro_kernel = interleaved_micro_kernel<3>,
            .calls_per_step = kTermPairs<3, 3>.size()};
  if (gemm.compute == DType::kBFloat16) {
    task.micro_kernel = interleaved_micro_kernel<1>;
    task.calls_per_step = kTermPairs<1, 1>.size();
    task.pack = a_bf16 ? (b_bf16 ? kPackTiles<Stored, Stored> : kPackTiles<Stored, Rounded>)
                       : (b_bf16 ? kPackTiles<Rounded, Stored> : kPackTiles<Rounded, Rounded>);
  }
  task.kc = gemm_tiles::kc_of(gemm.shape.k, kMaxKcTerms / task.pack.terms, kTileK);
  return task;
}

void multiply(cpu::Team& team, const cpu::Gemm& gemm) {
  Task task = task_for(gemm);
  constexpr int64_t kPanelBytes = kPanelWords * int64_t{sizeof(float)};
  constexpr int64_t kScratchPanels = cpu::Team::kScratchBytes / kPanelBytes;
  constexpr int kCachePercent = 42;
  task.a_panels = gemm_tiles::a_panels_per_block(kPanelBytes, kCachePercent, kScratchPanels / 2);
  gemm_tiles::BlockingCosts costs{.max_mc = task.a_panels * kMicroTile,
                                  .max_nc = INT64_MAX / 2,
                                  .row_multiple = kMicroTile,
                                  .pack_a = 150,
                                  .pack_b = 80,
                                  .per_block = 2e6};
  if (is_16_bit_float(gemm.c_dtype) && gemm.shape.k > task.kc) {
    task.partial_columns =
        (kScratchPanels - ThreadState::kPanels - task.a_panels) * kPanelWords / costs.max_mc / kMicroTile * kMicroTile;
    costs.max_nc = task.partial_columns;
  }
  gemm_tiles::multiply_blocks<MacroKernel>(team, task, gemm_tiles::cut_for(gemm.shape, costs, team.size()));
}

}  // namespace
}  // namespace gemm_amx

void amx_gemm(cpu::Team& team, const cpu::Gemm& gemm) { gemm_amx::multiply(team, gemm); }

}  // namespace laptime::LAPTIME_ISA
