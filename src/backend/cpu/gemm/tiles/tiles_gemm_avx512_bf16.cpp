// The GEMM on packed words of two bfloat16, by the dot product instruction of AVX512_BF16 (vdpbf16ps).
#include "backend/cpu/gemm/bfloat16_pairs.h"
#include "backend/cpu/gemm/tiles/multiply.h"

namespace laptime::LAPTIME_ISA {

using gemm_tiles::PairWords;

int64_t tiles_pairs_packed_bytes(const cpu::Gemm& gemm) { return gemm_tiles::prepacked_b_bytes<PairWords>(gemm); }

void tiles_pairs_gemm(cpu::Team& team, const cpu::Gemm& gemm, bool packs_first) {
  gemm_tiles::multiply_from<PairWords, BFloat16, RoundedTo<BFloat16>>(team, gemm, packs_first);
}

}  // namespace laptime::LAPTIME_ISA
