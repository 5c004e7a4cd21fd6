// What is compiled for the instructions of bfloat16 alone, behind a look at the processor.
#pragma once

#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/peak/peak_loops.h"
#include "backend/cpu/team.h"

namespace laptime::cpu {

// Products of bfloat16 that amx_gemm makes of one of float32.
constexpr int kSplitProducts = 6;

struct Bfloat16Pairs {
  // A product that tiles_gemm takes, in bfloat16: denormals are zeros, and bits are not those of tiles_gemm.
  void (*gemm)(Team& team, const Gemm& gemm, bool packs_first);
  int64_t (*packed_bytes)(const Gemm& gemm);  // as tiles_packed_bytes
  PeakLoop peak_loop;
  // By AMX, also of float32 factors as three bfloat16 each; null where there is none, or the system does not lend its
  // registers.
  void (*amx_gemm)(Team& team, const Gemm& gemm);
  PeakLoop amx_peak_loop;
};

// Null where this build or this machine has no such instruction.
const Bfloat16Pairs* bfloat16_pairs();

}  // namespace laptime::cpu

namespace laptime::avx512_bf16 {

void tiles_pairs_gemm(cpu::Team& team, const cpu::Gemm& gemm, bool packs_first);
int64_t tiles_pairs_packed_bytes(const cpu::Gemm& gemm);
void amx_gemm(cpu::Team& team, const cpu::Gemm& gemm);
double pairs_peak_loop(int64_t repetitions, float* value);
double amx_peak_loop(int64_t repetitions, float* value);

}  // namespace laptime::avx512_bf16
