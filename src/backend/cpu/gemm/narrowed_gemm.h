// Runs a bfloat16 GEMM in a library: rounds float32 operands first, and copies the addend to C, to which the library
// then adds the product.
#pragma once

#include <string>

#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/isa_namespace.h"
#include "backend/cpu/team.h"

namespace laptime::LAPTIME_ISA {

// Returns an empty string if narrowed_gemm supports the operands, otherwise the reason why not. Factors, bias and
// result may be float32 or bfloat16. If there is an addend, the addend and the result must be float32.
std::string narrowed_refusal(const cpu::Gemm& gemm);
// Workspace bytes for the rounded operands.
int64_t narrowed_workspace(const cpu::Gemm& gemm);
// Must be called before the first GEMM with these shapes and types.
void prepare_narrowed(cpu::Team& team, const cpu::Gemm& gemm);
void narrowed_gemm(cpu::Team& team, const cpu::Gemm& gemm);

}  // namespace laptime::LAPTIME_ISA
