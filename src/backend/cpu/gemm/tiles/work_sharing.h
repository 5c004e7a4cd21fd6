// Work stealing at the end of a GEMM: an idle thread multiplies panels of B for a block of C whose part of A another
// thread has packed.
#pragma once

#include <immintrin.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/index_ranges.h"
#include "backend/cpu/isa_namespace.h"
#include "backend/cpu/team.h"

namespace laptime::LAPTIME_ISA::gemm_tiles {

// The panels of B that have not yet been multiplied by one packed mc x kc block of A. The thread that packed the block
// (the owner) and helpers take them one by one. The owner packs the next kc chunk only after every helper has left, so
// that chunks are added to a tile of C in order, regardless of the thread.
template <class MacroKernel>
class PanelQueue {
 public:
  struct Panel {
    MacroKernel* block = nullptr;  // null if no panel is left
    int64_t k = 0, kc = 0;         // the chunk [k, k + kc) of K
    int64_t index = 0;             // index of the panel in the block
  };

  // Called by the owner. Makes panels [begin, end) available.
  void open(MacroKernel* block, int64_t k, int64_t kc, int64_t begin, int64_t end) {
    chunk_ = {.block = block, .k = k, .kc = kc, .index = end};
    left_.store(end - begin, std::memory_order_release);
  }
  // Takes a panel, if one is left. Called by the owner, or by a helper between join and leave.
  Panel take() {
    const int64_t left = left_.fetch_sub(1, std::memory_order_acq_rel);
    if (left <= 0) return {};
    Panel panel = chunk_;
    panel.index -= left;
    return panel;
  }
  // Called by the owner when no panel is left. Waits until every helper has left.
  void close() {
    while (helpers_.load(std::memory_order_acquire) != 0) _mm_pause();
  }

  void join() { helpers_.fetch_add(1, std::memory_order_acq_rel); }
  void leave() { helpers_.fetch_sub(1, std::memory_order_release); }

 private:
  alignas(64) std::atomic<int64_t> left_{0};
  std::atomic<int> helpers_{0};
  Panel chunk_;  // may be read only after left_ has granted a panel
};

// Multiplies all blocks of a GEMM. A thread runs MacroKernel(task, block, scratch).run(queue) for each block that it
// takes, starting with its own range of blocks, and MacroKernel::help(queue, scratch) once no block is left. A panel of
// B has MacroKernel::kPanelColumns columns.
template <class MacroKernel, class Task>
void multiply_blocks(cpu::Team& team, const Task& task, const cpu::GemmCut& cut) {
  const int64_t blocks = cut.count();
  // With fewer blocks than threads, only as many threads run as there are blocks. Otherwise all threads run and share
  // panels.
  const int64_t units =
      blocks < team.size() ? blocks : blocks * ceil_div(cut.columns(false), MacroKernel::kPanelColumns);
  std::vector<PanelQueue<MacroKernel>> queues(static_cast<size_t>(team.size()));
  cpu::IndexRanges indices(team.size());
  indices.divide(blocks, team.size());
  std::atomic<int64_t> unfinished{blocks};
  const auto work = [&](int thread) {
    std::byte* const scratch = team.scratch(thread);
    cpu::IndexRanges::Taker taker(indices, thread);
    while (const std::optional<int64_t> index = taker.next()) {
      const cpu::GemmBlock block = cut[*index];
      MacroKernel(task, block, scratch).run(queues[static_cast<size_t>(thread)]);
      unfinished.fetch_sub(1, std::memory_order_release);
    }
    while (unfinished.load(std::memory_order_acquire) > 0) {
      for (PanelQueue<MacroKernel>& queue : queues) MacroKernel::help(queue, scratch);
      std::this_thread::yield();
    }
  };
  team.share(blocks, units, work, {task.gemm.shape.flops()});
}

}  // namespace laptime::LAPTIME_ISA::gemm_tiles
