// Work that a core does between tile products. A tile product is one instruction that takes 16 cycles, so most of the
// core is idle while the tile unit is busy.
#pragma once

#include <algorithm>

#include "backend/cpu/gemm/amx/pack.h"
#include "backend/cpu/gemm/tiles/c_tile.h"
#include "backend/cpu/gemm/tiles/prefetcher.h"

namespace laptime::LAPTIME_ISA::gemm_amx {

using gemm_tiles::CTile;
using gemm_tiles::ReadPrefetcher;
using gemm_tiles::WritePrefetcher;

// Stores the sums of a finished micro-tile to C, a few rows per call.
class DeferredStore {
 public:
  // `sums` must not change until every row is stored.
  void begin(const float* sums, const CTile& tile) {
    sums_ = sums;
    tile_ = tile;
    left_ = tile.rows;
  }
  void store_rows(int64_t count) {
    tile_.rows = std::min(count, left_);
    if (tile_.rows == 0) return;
    store_c_tile(sums_, tile_);
    sums_ += tile_.rows * kMicroTile;
    tile_.advance(tile_.rows);
    left_ -= tile_.rows;
  }

 private:
  const float* sums_ = nullptr;
  CTile tile_;
  int64_t left_ = 0;
};

// Work interleaved with the products of a micro-tile: storing the previous micro-tile, packing the next panel of B, and
// prefetching later operands. The counts state how much each call to advance() does.
struct InterleavedWork {
  DeferredStore* store = nullptr;
  int64_t store_rows = 0;
  BPanelPacker* packer = nullptr;
  int64_t pieces = 1, calls_per_packing = 1;  // `pieces` pieces are packed in every `calls_per_packing`-th call
  WritePrefetcher c;                          // prefetches C of the next micro-tile
  ReadPrefetcher addend;                      // prefetches the addend of the next micro-tile
  int64_t c_lines = 0;
  ReadPrefetcher* b_panel = nullptr;  // prefetches the panel of B that follows the one being packed
  int64_t b_lines = 0;
  int64_t calls_left = 1;  // calls until pieces are packed again

  void advance() {
    c.prefetch(c_lines);
    addend.prefetch(c_lines);
    b_panel->prefetch(b_lines);
    store->store_rows(store_rows);
    if (--calls_left > 0) return;
    calls_left = calls_per_packing;
    packer->pack(pieces);
  }
};

}  // namespace laptime::LAPTIME_ISA::gemm_amx
