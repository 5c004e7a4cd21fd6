// Our own matrix product, compiled once per instruction set: packed slivers and a tile of sums held in registers.
#pragma once

#include "backend/cpu/gemm.h"
#include "backend/cpu/isa_namespace.h"
#include "backend/cpu/team.h"

namespace laptime::LAPTIME_ISA {

// float32, or bfloat16 widened while packing, accumulated in float32 and rounded once; any strides. K is cut by K
// alone, so that every tile shape, block shape and number of threads gives the same bits.
void tiles_gemm(cpu::Team& team, const cpu::Gemm& gemm);

}  // namespace laptime::LAPTIME_ISA
