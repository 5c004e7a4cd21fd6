// Our GEMM for any instruction set: packed panels, and a register-blocked micro-kernel.
#pragma once

#include <string>

#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/isa_namespace.h"
#include "backend/cpu/team.h"

namespace laptime::LAPTIME_ISA {

// Takes factors of any strides, float32 or one 16-bit type in any mixture; the latter is widened while it is packed.
// Sums are accumulated in float32 and rounded once. K is cut by K alone, so that the bits of the result depend neither
// on block sizes nor on the number of threads. tiles_refusal must be empty.
void tiles_gemm(cpu::Team& team, const cpu::Gemm& gemm);
// Empty where tiles_gemm takes the operands, else the reason why not.
std::string tiles_refusal(const cpu::Gemm& gemm);

}  // namespace laptime::LAPTIME_ISA
