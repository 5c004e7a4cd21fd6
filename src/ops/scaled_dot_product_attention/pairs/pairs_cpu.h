// Attention with products of packed bfloat16 pairs. AMX tiles multiply bfloat16 operands, or float32 operands as sums
// of three bfloat16 terms; vectors multiply bfloat16 operands.
#pragma once

#include "backend/kernel.h"

namespace laptime::avx512_bf16::attention::pairs {

// The widest head whose packed blocks fit in a thread's scratch.
constexpr int64_t kMaxPairsWidth = 128;

// Kernels that multiply in AMX tiles. They have the same interface as those of scaled_dot_product_attention_cpu.cpp.
// Operands must have contiguous rows.
void launch_amx_forward(const KernelCall& call);
void launch_amx_backward(const KernelCall& call);
int64_t amx_backward_workspace(const Signature& signature);

// Kernels that multiply with AVX-512 BF16 dot products. Operands must be bfloat16.
void launch_dot_forward(const KernelCall& call);
void launch_dot_backward(const KernelCall& call);
int64_t dot_backward_workspace(const Signature& signature);

}  // namespace laptime::avx512_bf16::attention::pairs
