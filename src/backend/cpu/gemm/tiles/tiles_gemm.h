// Our GEMM for any instruction set: packed panels, and a register-blocked micro-kernel.
#pragma once

#include <string>

#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/isa_namespace.h"
#include "backend/cpu/team.h"

namespace laptime::LAPTIME_ISA {

// Multiplies factors with any strides, in any mixture of float32 and one 16-bit type, which is widened during packing.
// Sums are accumulated in float32 and rounded once. K is summed in chunks that depend only on K, so the bits of the
// result depend neither on how C is divided into blocks nor on the number of threads. tiles_refusal must be empty.
void tiles_gemm(cpu::Team& team, const cpu::Gemm& gemm);
// Returns an empty string if tiles_gemm supports the operands, otherwise the reason why not.
std::string tiles_refusal(const cpu::Gemm& gemm);

}  // namespace laptime::LAPTIME_ISA
