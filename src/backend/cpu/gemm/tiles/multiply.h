// A whole GEMM by the macro-kernel on all threads of a team, for one kind of packed words.
#pragma once

#include "backend/cpu/gemm/tiles/macro_kernel.h"

namespace laptime::LAPTIME_ISA::gemm_tiles {

template <class Words>
ScratchLayout scratch_layout_of(const cpu::Gemm& gemm) {
  return ScratchLayout(is_16_bit_float(gemm.c_dtype) && gemm.shape.k > kc_of<Words>(gemm.shape.k));
}

// Bytes of B packed before the products; 0 where no panel of B would be packed more than once anyway.
template <class Words>
int64_t prepacked_b_bytes(const cpu::Gemm& gemm) {
  const bool repacks = gemm.shape.batches == 1 && gemm.shape.m > scratch_layout_of<Words>(gemm).a_panels * kMr;
  return repacks ? PrepackedB<Words>::bytes(gemm.shape) : 0;
}

template <class Words>
void prepack_b(cpu::Team& team, const Task<Words>& task) {
  const cpu::GemmShape& shape = task.gemm.shape;
  const cpu::GemmBlock whole{.rows = shape.m, .columns = shape.n};
  const auto pack_panel = [&](int64_t index) {
    const int64_t column = index * kNr;
    task.pack_b.panel(b_panel_source(task.gemm, whole, 0, shape.k, column), task.prepacked_b.at(column, 0));
  };
  team.parallel_for(ceil_div(shape.n, kNr), pack_panel, moving(2 * shape.k * shape.n));
}

template <class Words>
void multiply(cpu::Team& team, const cpu::Gemm& gemm, bool packs_first, const PackA& pack_a, const PackB& pack_b) {
  Task<Words> task{.gemm = gemm,
                   .scratch = scratch_layout_of<Words>(gemm),
                   .pack_a = pack_a,
                   .pack_b = pack_b,
                   .kc = kc_of<Words>(gemm.shape.k),
                   .prepacked_b = {}};
  if (packs_first) {
    task.prepacked_b = PrepackedB<Words>::in(reinterpret_cast<float*>(gemm.workspace), gemm.shape);
    prepack_b(team, task);
  }
  const cpu::GemmCut cut =
      cut_for(gemm.shape, {.max_mc = task.scratch.a_panels * kMr, .max_nc = task.scratch.partial_columns}, team.size());
  multiply_blocks<MacroKernel<Words>>(team, task, cut);
}

// Chooses the packing functions by the types of A and B, float32, read as `WideElement`, or `Narrow`. With
// `packs_first` B is packed once, into the workspace, before the products.
template <class Words, class A, class B>
void multiply_as(cpu::Team& team, const cpu::Gemm& gemm, bool packs_first) {
  multiply<Words>(team, gemm, packs_first, kPackA<Words, A>, kPackB<Words, B>);
}
template <class Words, class Narrow, class WideElement>
void multiply_from(cpu::Team& team, const cpu::Gemm& gemm, bool packs_first) {
  const bool a_is_narrow = gemm.a.dtype != DType::kFloat32;
  const bool b_is_narrow = gemm.b.dtype != DType::kFloat32;
  if (a_is_narrow)
    return b_is_narrow ? multiply_as<Words, Narrow, Narrow>(team, gemm, packs_first)
                       : multiply_as<Words, Narrow, WideElement>(team, gemm, packs_first);
  return b_is_narrow ? multiply_as<Words, WideElement, Narrow>(team, gemm, packs_first)
                     : multiply_as<Words, WideElement, WideElement>(team, gemm, packs_first);
}

}  // namespace laptime::LAPTIME_ISA::gemm_tiles
