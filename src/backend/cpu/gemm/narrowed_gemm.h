// bfloat16 products by a library: float32 operands are rounded first, and c takes the addend before it is added to.
#pragma once

#include <string>

#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/isa_namespace.h"
#include "backend/cpu/team.h"

namespace laptime::LAPTIME_ISA {

// By oneDNN, with factors, bias and result of float32 or bfloat16; an addend and its result are float32.
std::string narrowed_refusal(const cpu::Gemm& gemm);
int64_t narrowed_workspace(const cpu::Gemm& gemm);              // bytes: the operands that must be rounded
void prepare_narrowed(cpu::Team& team, const cpu::Gemm& gemm);  // before the first product of this form
void narrowed_gemm(cpu::Team& team, const cpu::Gemm& gemm);

}  // namespace laptime::LAPTIME_ISA
