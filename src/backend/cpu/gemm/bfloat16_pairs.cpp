// Detects the instructions that multiply pairs of bfloat16.
#include "backend/cpu/gemm/bfloat16_pairs.h"

#include "base/isa.h"

namespace laptime::cpu {

const Bfloat16Pairs* bfloat16_pairs() {
#if defined(LAPTIME_AVX512_BF16)
  static const bool kAvailable = may_use_bfloat16_pairs();
  static const bool kHasAmx = may_use_tiles();
  static const Bfloat16Pairs kPairs{.gemm = avx512_bf16::tiles_pairs_gemm,
                                    .peak_loop = avx512_bf16::pairs_peak_loop,
                                    .amx_gemm = kHasAmx ? avx512_bf16::amx_gemm : nullptr,
                                    .amx_peak_loop = kHasAmx ? avx512_bf16::amx_peak_loop : nullptr};
  return kAvailable ? &kPairs : nullptr;
#else
  return nullptr;
#endif
}

}  // namespace laptime::cpu
