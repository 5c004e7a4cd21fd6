// The loops that measure the bfloat16 peaks of dot products of pairs (vdpbf16ps) and of tile products (AMX).
#include <immintrin.h>

#include "backend/cpu/gemm/amx/amx_tiles.h"
#include "backend/cpu/gemm/bfloat16_pairs.h"
#include "backend/cpu/peak/accumulators.h"

namespace laptime::LAPTIME_ISA {

double pairs_peak_loop(int64_t repetitions, float* value) {
  const auto factor = (__m512bh)_mm512_set1_epi16(0x3F00);  // every element 0.5
  Accumulators sums = accumulators_from(*value);
  for (int64_t i = 0; i < repetitions; ++i) {
#pragma GCC unroll 12
    for (Vector& sum : sums) sum = _mm512_dpbf16_ps(sum, factor, factor);
  }
  *value = sum_of(sums);
  return 4.0 * kAccumulators * kLanes * static_cast<double>(repetitions);
}

// Each repetition computes four tile products of two 16 x 32 tiles and two 32 x 16 tiles, using all eight tile
// registers like a GEMM.
LAPTIME_AMX double amx_peak_loop(int64_t repetitions, float* value) {
  constexpr size_t kRows = 16;
  constexpr size_t kRowBytes = 64;
  alignas(64) uint32_t ones[kRows * kRowBytes / sizeof(uint32_t)];
  for (uint32_t& pair : ones) pair = 0x3F803F80;  // a pair of ones
  alignas(64) float sums[kRows * kRowBytes / sizeof(float)];
  gemm_amx::configure_tiles();
  gemm_amx::finish_stores();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, ones, kRowBytes);
  _tile_loadd(5, ones, kRowBytes);
  _tile_loadd(6, ones, kRowBytes);
  _tile_loadd(7, ones, kRowBytes);
  for (int64_t i = 0; i < repetitions; ++i) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, sums, kRowBytes);
  gemm_amx::release_tiles();
  *value = sums[0];
  constexpr double kProducts = 4.0 * kRows * kRows * kRowBytes / 2;
  return 2 * kProducts * static_cast<double>(repetitions);
}

}  // namespace laptime::LAPTIME_ISA
