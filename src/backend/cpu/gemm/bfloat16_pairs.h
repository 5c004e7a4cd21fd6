// Functions that are compiled only for processors with bfloat16 instructions. Call them after checking the processor.
#pragma once

#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/peak/peak_loops.h"
#include "backend/cpu/team.h"

namespace laptime::cpu {

// The number of bfloat16 products that amx_gemm computes for one float32 product.
constexpr int kSplitProducts = 6;

struct Bfloat16Pairs {
  // Has the same parameters as tiles_gemm and computes in bfloat16 with vdpbf16ps: denormals count as zeros, and
  // results differ from those of tiles_gemm in the last bits.
  void (*gemm)(Team& team, const Gemm& gemm);
  PeakLoop peak_loop;
  // Multiplies on AMX tiles: bfloat16 factors, or float32 factors as the sum of three bfloat16 terms. amx_gemm and
  // amx_peak_loop are null if the processor has no AMX or the operating system does not let this process use the tile
  // registers.
  void (*amx_gemm)(Team& team, const Gemm& gemm);
  PeakLoop amx_peak_loop;
};

// Returns null if this build or this processor lacks the instructions.
const Bfloat16Pairs* bfloat16_pairs();

}  // namespace laptime::cpu

namespace laptime::avx512_bf16 {

void tiles_pairs_gemm(cpu::Team& team, const cpu::Gemm& gemm);
void amx_gemm(cpu::Team& team, const cpu::Gemm& gemm);
double pairs_peak_loop(int64_t repetitions, float* value);
double amx_peak_loop(int64_t repetitions, float* value);

}  // namespace laptime::avx512_bf16
