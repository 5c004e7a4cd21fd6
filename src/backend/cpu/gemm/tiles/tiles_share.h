// Help at the end of a product: a thread without a block takes slivers of the blocks that others still work on.
#pragma once

#include <immintrin.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/isa_namespace.h"
#include "backend/cpu/team.h"

namespace laptime::LAPTIME_ISA {

// The slivers of b that one block of a, packed for a chunk of K, is still to be multiplied by. Its owner takes them one
// by one as helpers do, and packs the next chunk only when every helper has left: so a tile is added to chunk by chunk,
// whoever adds.
template <class Block>
class ChunkShare {
 public:
  struct Sliver {
    Block* block = nullptr;        // null: there is none
    int64_t first = 0, depth = 0;  // of K
    int64_t index = 0;
  };

  // By the owner: slivers [begin, end) may be taken.
  void open(Block* block, int64_t first, int64_t depth, int64_t begin, int64_t end) {
    chunk_ = {.block = block, .first = first, .depth = depth, .index = end};
    left_.store(end - begin, std::memory_order_release);
  }
  // By the owner, or a helper between join and leave.
  Sliver take() {
    const int64_t left = left_.fetch_sub(1, std::memory_order_acq_rel);
    if (left <= 0) return {};
    Sliver sliver = chunk_;
    sliver.index -= left;
    return sliver;
  }
  // By the owner, once none is left to take.
  void close() {
    while (helpers_.load(std::memory_order_acquire) != 0) _mm_pause();
  }

  void join() { helpers_.fetch_add(1, std::memory_order_acq_rel); }
  void leave() { helpers_.fetch_sub(1, std::memory_order_release); }

 private:
  alignas(64) std::atomic<int64_t> left_{0};
  std::atomic<int> helpers_{0};
  Sliver chunk_;  // read only by whom left_ gave a sliver
};

// Multiplies all blocks: Product(task, block, scratch).run(share) for each of them, and Product::help(share, scratch)
// by threads for which none is left.
template <class Product, class Task>
void multiply_blocks(cpu::Team& team, const Task& task, const cpu::GemmCut& cut) {
  const int64_t blocks = cut.count();
  std::vector<ChunkShare<Product>> shares(static_cast<size_t>(team.size()));
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> unfinished{blocks};
  team.parallel_for(std::min<int64_t>(blocks, team.size()), [&](int64_t, int lane) {
    std::byte* const scratch = team.scratch(lane);
    for (int64_t index = next.fetch_add(1); index < blocks; index = next.fetch_add(1)) {
      const cpu::GemmBlock block = cut[index];
      Product(task, block, scratch).run(shares[static_cast<size_t>(lane)]);
      unfinished.fetch_sub(1, std::memory_order_release);
    }
    while (unfinished.load(std::memory_order_acquire) > 0) {
      for (ChunkShare<Product>& share : shares) Product::help(share, scratch);
      std::this_thread::yield();
    }
  });
}

}  // namespace laptime::LAPTIME_ISA
