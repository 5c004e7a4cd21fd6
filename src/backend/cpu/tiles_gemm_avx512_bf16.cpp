// Our product by pairs of bfloat16 (vdpbf16ps).
#include "backend/cpu/bfloat16_pairs.h"
#include "backend/cpu/tiles_blocks.h"

namespace laptime::LAPTIME_ISA {

void tiles_pairs_gemm(cpu::Team& team, const cpu::Gemm& gemm) { multiply_from<PairWords, Rounded>(team, gemm); }

}  // namespace laptime::LAPTIME_ISA
