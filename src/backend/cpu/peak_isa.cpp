// Chains of multiply-adds that depend on nothing but themselves, enough of them to hide the latency of one.
#include "backend/cpu/peak_loops.h"
#include "backend/cpu/vectors.h"

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
constexpr auto kBfloat16Loop = bfloat16_loop;
#else
constexpr double (*kBfloat16Loop)(int64_t, float*) = nullptr;
#endif

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

}  // namespace

cpu::PeakLoops peak_loops() { return {float32_loop, kBfloat16Loop, stream}; }

}  // namespace laptime::LAPTIME_ISA
