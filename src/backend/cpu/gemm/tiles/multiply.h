// Runs a whole GEMM with the macro-kernel, on all threads of a team, for one kind of packed words.
#pragma once

#include "backend/cpu/gemm/tiles/macro_kernel.h"

namespace laptime::LAPTIME_ISA::gemm_tiles {

template <class Words>
void multiply(cpu::Team& team, const cpu::Gemm& gemm, const PackA& pack_a, const PackB& pack_b) {
  const int64_t kc = kc_of<Words>(gemm.shape.k);
  const ScratchLayout scratch(is_16_bit_float(gemm.c_dtype) && gemm.shape.k > kc);
  const Task task{.gemm = gemm, .scratch = scratch, .pack_a = pack_a, .pack_b = pack_b, .kc = kc};
  const cpu::GemmCut cut =
      cut_for(gemm.shape, {.max_mc = scratch.a_panels * kMr, .max_nc = scratch.partial_columns}, team.size());
  multiply_blocks<MacroKernel<Words>>(team, task, cut);
}

template <class Words, class A, class B>
void multiply_as(cpu::Team& team, const cpu::Gemm& gemm) {
  multiply<Words>(team, gemm, kPackA<Words, A>, kPackB<Words, B>);
}
// Chooses the packing functions by the types of A and B. Each type is float32, which is read as `WideElement`, or
// `Narrow`.
template <class Words, class Narrow, class WideElement>
void multiply_from(cpu::Team& team, const cpu::Gemm& gemm) {
  const bool a_is_narrow = gemm.a.dtype != DType::kFloat32;
  const bool b_is_narrow = gemm.b.dtype != DType::kFloat32;
  if (a_is_narrow)
    return b_is_narrow ? multiply_as<Words, Narrow, Narrow>(team, gemm)
                       : multiply_as<Words, Narrow, WideElement>(team, gemm);
  return b_is_narrow ? multiply_as<Words, WideElement, Narrow>(team, gemm)
                     : multiply_as<Words, WideElement, WideElement>(team, gemm);
}

}  // namespace laptime::LAPTIME_ISA::gemm_tiles
