// multiply_add for one float. Except in avx512_bf16 code, the compiler is not allowed to fuse products and sums by
// itself (cmake/op_files.cmake), because the compiler's choice, and thus the results, would depend on the vector width.
#pragma once

#include "backend/cpu/isa_namespace.h"

namespace laptime::LAPTIME_ISA {

// a b + c, rounded once, or twice if the instruction set has no fused multiply-add (plain x86-64).
[[gnu::always_inline]] inline float multiply_add(float a, float b, float c) {
#if defined(__FMA__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

}  // namespace laptime::LAPTIME_ISA
