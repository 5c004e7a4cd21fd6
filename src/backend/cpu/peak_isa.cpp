// Chains of multiply-adds that depend on nothing but themselves, enough of them to hide the latency of one.
#include "backend/cpu/peak_loops.h"
#include "backend/cpu/vectors.h"
#include "base/isa.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

namespace laptime::LAPTIME_ISA {
namespace {

constexpr int kChains = 12;  // with two operands they fit 16 registers; four cycles on two ports need eight
using Chains = std::array<Vector, kChains>;

// Each begins elsewhere: equal chains a compiler would make one.
Chains chains_from(float value) {
  Chains chains;
  for (int i = 0; i < kChains; ++i) chains[static_cast<size_t>(i)] = Vector{} + value * static_cast<float>(i);
  return chains;
}

double float32_loop(int64_t repetitions, float* value) {
  const Vector factor = Vector{} + *value;
  const Vector addend = Vector{} + (1.0F - *value);  // x * value + (1 - value) stays near 1
  Chains sums = chains_from(*value);
  for (int64_t i = 0; i < repetitions; ++i) {
#pragma GCC unroll 12
    for (Vector& sum : sums) sum = sum * factor + addend;
  }
  Vector total{};
  for (const Vector& sum : sums) total += sum;
  *value = total[0];
  return 2.0 * kChains * kLanes * static_cast<double>(repetitions);
}

void stream(float* w, const float* g, float* m, float* v, int64_t count) {
  constexpr int64_t kAhead = 512;  // 2 KiB
  constexpr int64_t kLine = 16;
  for (int64_t begin = 0; begin < count; begin += kLine) {
    __builtin_prefetch(w + begin + kAhead, 1);
    __builtin_prefetch(g + begin + kAhead);
    __builtin_prefetch(m + begin + kAhead, 1);
    __builtin_prefetch(v + begin + kAhead, 1);
    const int64_t end = begin + kLine < count ? begin + kLine : count;
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      m[i] = 0.9F * m[i] + 0.1F * g[i];
      v[i] = 0.99F * v[i] + 0.01F * g[i] * g[i];
      w[i] -= 1e-3F * m[i] * v[i];
    }
  }
}

#if defined(__AVX512BF16__)
double bfloat16_loop(int64_t repetitions, float* value) {
  const auto factor = (__m512bh)_mm512_set1_epi16(0x3F00);  // 0.5 everywhere
  Chains sums = chains_from(*value);
  for (int64_t i = 0; i < repetitions; ++i) {
#pragma GCC unroll 12
    for (Vector& sum : sums) sum = _mm512_dpbf16_ps(sum, factor, factor);
  }
  Vector total{};
  for (const Vector& sum : sums) total += sum;
  *value = total[0];
  return 4.0 * kChains * kLanes * static_cast<double>(repetitions);
}

// Four products of 16 x 32 by 32 x 16 tiles, two tiles of each factor, as a matrix product would use the eight
// registers.
__attribute__((target("amx-tile,amx-bf16"))) double bfloat16_tiles_loop(int64_t repetitions, float* value) {
  constexpr size_t kRows = 16;
  constexpr size_t kRowBytes = 64;
  struct alignas(64) {
    uint8_t palette = 1, start = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {};
    uint8_t rows[16] = {};
  } shape;
  for (size_t tile = 0; tile < 8; ++tile) {
    shape.row_bytes[tile] = kRowBytes;
    shape.rows[tile] = kRows;
  }
  alignas(64) uint32_t ones[kRows * kRowBytes / sizeof(uint32_t)];
  for (uint32_t& pair : ones) pair = 0x3F803F80;  // 1, 1
  alignas(64) float sums[kRows * kRowBytes / sizeof(float)];
  _tile_loadconfig(&shape);
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
  _tile_release();
  *value = sums[0];
  constexpr double kProducts = 4.0 * kRows * kRows * kRowBytes / 2;
  return 2 * kProducts * static_cast<double>(repetitions);
}

#endif

}  // namespace

cpu::PeakLoops peak_loops() {
#if defined(__AVX512BF16__)
  return {float32_loop, bfloat16_loop, cpu::may_use_tiles() ? bfloat16_tiles_loop : nullptr, stream};
#else
  return {float32_loop, nullptr, nullptr, stream};
#endif
}

}  // namespace laptime::LAPTIME_ISA
