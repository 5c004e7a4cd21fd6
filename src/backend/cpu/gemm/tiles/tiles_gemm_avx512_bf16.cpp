// The GEMM on packed words of two bfloat16, using the dot product instruction of AVX512_BF16 (vdpbf16ps).
#include "backend/cpu/gemm/bfloat16_pairs.h"
#include "backend/cpu/gemm/tiles/multiply.h"

namespace laptime::LAPTIME_ISA {

using gemm_tiles::PairWords;

void tiles_pairs_gemm(cpu::Team& team, const cpu::Gemm& gemm) {
  gemm_tiles::multiply_from<PairWords, BFloat16, RoundedTo<BFloat16>>(team, gemm);
}

}  // namespace laptime::LAPTIME_ISA
