// Our product by pairs of bfloat16 (vdpbf16ps).
#include "backend/cpu/gemm/bfloat16_pairs.h"
#include "backend/cpu/gemm/tiles/tiles_blocks.h"

namespace laptime::LAPTIME_ISA {

int64_t tiles_pairs_packed_bytes(const cpu::Gemm& gemm) { return packed_b_bytes<PairWords>(gemm); }

void tiles_pairs_gemm(cpu::Team& team, const cpu::Gemm& gemm, bool packs_first) {
  multiply_from<PairWords, Rounded>(team, gemm, packs_first);
}

}  // namespace laptime::LAPTIME_ISA
