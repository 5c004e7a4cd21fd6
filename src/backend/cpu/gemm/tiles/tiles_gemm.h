// Our own matrix product, compiled once per instruction set: packed slivers and a tile of sums held in registers.
#pragma once

#include <string>

#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/isa_namespace.h"
#include "backend/cpu/team.h"

namespace laptime::LAPTIME_ISA {

// Any strides of the factors; float32 and bfloat16 in any mixture. bfloat16 is widened while it is packed; sums are
// accumulated in float32 and rounded once. K is cut by K alone, so that every tile shape, block shape and number of
// threads gives the same bits. tiles_refusal must be empty. With `packs_first` b is packed once, into the workspace of
// tiles_packed_bytes; else each block packs the part that it reads.
void tiles_gemm(cpu::Team& team, const cpu::Gemm& gemm, bool packs_first);
int64_t tiles_packed_bytes(const cpu::Gemm& gemm);  // 0: no part of b would be packed twice
std::string tiles_refusal(const cpu::Gemm& gemm);

}  // namespace laptime::LAPTIME_ISA
