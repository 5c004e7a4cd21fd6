// Runs a 16-bit GEMM in a float32 library: blocks are widened, multiplied, and rounded once.
#pragma once

#include "backend/cpu/gemm/gemm.h"
#include "backend/cpu/isa_namespace.h"
#include "backend/cpu/team.h"

namespace laptime::LAPTIME_ISA {

// Multiplies with oneDNN's sgemm. All operands are bfloat16, or all are float16, and there is no addend.
// onednn_layout_refusal must be empty.
void widened_gemm(cpu::Team& team, const cpu::Gemm& gemm);

}  // namespace laptime::LAPTIME_ISA
