// The AMX micro-kernel: multiplies packed A and B panels, whose elements are sums of one or more bfloat16 terms, and
// accumulates in 2 x 2 tiles.
#pragma once

#include <immintrin.h>

#include "backend/cpu/gemm/amx/amx_tiles.h"
#include "backend/cpu/gemm/amx/pack.h"
#include "backend/cpu/gemm/bfloat16_pairs.h"

namespace laptime::LAPTIME_ISA::gemm_amx {

// A micro-tile of 32 x 32 float32 sums: the address of its initial sums (null for zeros) and the address of its
// results, each with its row stride in elements.
struct MicroTile {
  const float* from = nullptr;
  int64_t ld_from = 0;
  float* to = nullptr;
  int64_t ld_to = 0;
};

using cpu::kTermPairs;
using cpu::TermPair;
static_assert(kTermPairs<3, 3>.size() == cpu::kSplitProducts);

// Multiplies tiles for one step of 32 elements of K, one pair of terms after the other. Calls between() after each
// pair.
template <int64_t kATerms, int64_t kBTerms, size_t kPair = 0, class Between>
[[gnu::always_inline]] LAPTIME_AMX inline void multiply_step(const float* a, const float* b, const Between& between) {
  constexpr int64_t kRowBytes = kTile * int64_t{sizeof(float)};
  constexpr auto kPairs = kTermPairs<kATerms, kBTerms>;
  constexpr TermPair kTerm = kPairs[kPair];
  constexpr bool kLoadsA = kPair == 0 || kPairs[kPair - (kPair > 0)].a != kTerm.a;
  constexpr bool kLoadsB = kPair == 0 || kPairs[kPair - (kPair > 0)].b != kTerm.b;
  const float* const a_words = a + kTerm.a * kPanelStepWords;
  const float* const b_words = b + kTerm.b * kPanelStepWords;
  // A panel of A is read once per panel of B and must not evict the panel of B from the L1 cache, so it is streamed.
  if constexpr (kLoadsA) _tile_stream_loadd(4, a_words, kRowBytes);
  if constexpr (kLoadsB) _tile_loadd(6, b_words, 2 * kRowBytes);
  if constexpr (kLoadsB) _tile_loadd(7, b_words + kTile, 2 * kRowBytes);
  _tile_dpbf16ps(0, 4, 6);
  if constexpr (kLoadsA) _tile_stream_loadd(5, a_words + kTileWords, kRowBytes);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
  between();
  if constexpr (kPair + 1 < kPairs.size()) multiply_step<kATerms, kBTerms, kPair + 1>(a, b, between);
}

// The 512-bit units power down after 0.8 us without use, and a tile store then waits 0.25 us for them.
inline void keep_vector_units_awake() {
  __m512i value = _mm512_setzero_si512();
  __asm__ volatile("vfmadd231ps %0, %0, %0" : "+v"(value));
}

// Multiplies a packed panel of A by a packed panel of B over `steps` steps of 32 elements of K. Calls between() after
// every four tile products, which keep the tile unit busy for 64 to 80 cycles. During that time, about 80 other
// instructions cost nothing; more would fill the reorder buffer behind the tile instructions.
template <int64_t kATerms, int64_t kBTerms, class Between>
[[gnu::always_inline]] LAPTIME_AMX inline void micro_kernel(const float* a, const float* b, int64_t steps,
                                                            const MicroTile& tile, const Between& between) {
  constexpr int64_t kFloat = sizeof(float);
  finish_stores();
  if (tile.from == nullptr) {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  } else {
    const float* const lower = tile.from + kTile * tile.ld_from;
    _tile_loadd(0, tile.from, tile.ld_from * kFloat);
    _tile_loadd(1, tile.from + kTile, tile.ld_from * kFloat);
    _tile_loadd(2, lower, tile.ld_from * kFloat);
    _tile_loadd(3, lower + kTile, tile.ld_from * kFloat);
  }
  for (int64_t step = 0; step < steps; ++step, a += kATerms * kPanelStepWords, b += kBTerms * kPanelStepWords) {
    multiply_step<kATerms, kBTerms>(a, b, between);
    keep_vector_units_awake();
  }
  float* const lower = tile.to + kTile * tile.ld_to;
  _tile_stored(0, tile.to, tile.ld_to * kFloat);
  _tile_stored(1, tile.to + kTile, tile.ld_to * kFloat);
  _tile_stored(2, lower, tile.ld_to * kFloat);
  _tile_stored(3, lower + kTile, tile.ld_to * kFloat);
}

}  // namespace laptime::LAPTIME_ISA::gemm_amx
