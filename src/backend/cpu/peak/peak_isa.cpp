// The loops that measure the float32 peak and the memory bandwidth.
#include "backend/cpu/peak/accumulators.h"
#include "backend/cpu/peak/peak_loops.h"

namespace laptime::LAPTIME_ISA {
namespace {

double float32_loop(int64_t repetitions, float* value) {
  const Vector factor = Vector{} + *value;
  const Vector addend = Vector{} + (1.0F - *value);  // x * value + (1 - value) converges to 1
  Accumulators sums = accumulators_from(*value);
  for (int64_t i = 0; i < repetitions; ++i) {
#pragma GCC unroll 12
    for (Vector& sum : sums) sum = multiply_add(sum, factor, addend);
  }
  *value = sum_of(sums);
  return 2.0 * kAccumulators * kLanes * static_cast<double>(repetitions);
}

void stream(float* w, const float* g, float* m, float* v, int64_t count) {
  constexpr int64_t kPrefetchDistance = 512;  // in elements; 2 KiB
  constexpr int64_t kLine = 16;               // elements of a cache line
  for (int64_t begin = 0; begin < count; begin += kLine) {
    __builtin_prefetch(w + begin + kPrefetchDistance, 1);
    __builtin_prefetch(g + begin + kPrefetchDistance);
    __builtin_prefetch(m + begin + kPrefetchDistance, 1);
    __builtin_prefetch(v + begin + kPrefetchDistance, 1);
    const int64_t end = begin + kLine < count ? begin + kLine : count;
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      m[i] = multiply_add(0.9F, m[i], 0.1F * g[i]);
      v[i] = multiply_add(0.99F, v[i], 0.01F * g[i] * g[i]);
      w[i] = multiply_add(-1e-3F * m[i], v[i], w[i]);
    }
  }
}

}  // namespace

cpu::PeakLoops peak_loops() { return {float32_loop, stream}; }

}  // namespace laptime::LAPTIME_ISA
