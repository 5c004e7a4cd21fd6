// Elementary functions built from the GPU's approximate instructions (such as ex2.approx), each of which has an error
// of about one unit in the last place of float32.
#pragma once

#include <cmath>

#include "backend/cuda/device_code.h"

namespace laptime::cuda {

constexpr float kLog2E = 1.4426950408889634F;

// 2^x; a result below the smallest normal number becomes 0.
LAPTIME_DEVICE float fast_exp2(float x) {
#if defined(__CUDA_ARCH__)
  float y = 0;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return exp2f(x);
#endif
}

// 1 / x; a result below the smallest normal number becomes 0.
LAPTIME_DEVICE float fast_reciprocal(float x) {
#if defined(__CUDA_ARCH__)
  float y = 0;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1 / x;
#endif
}

// 1 / sqrt(x)
LAPTIME_DEVICE float fast_rsqrt(float x) {
#if defined(__CUDA_ARCH__)
  float y = 0;
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#else
  return 1 / sqrtf(x);
#endif
}

// The sigmoid of x ln(2), which is 1 / (1 + 2^-x).
LAPTIME_DEVICE float fast_sigmoid2(float x) { return fast_reciprocal(1 + fast_exp2(-x)); }

}  // namespace laptime::cuda
