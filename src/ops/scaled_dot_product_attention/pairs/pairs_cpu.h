// Attention by products of packed pairs of bfloat16. AMX tiles multiply bfloat16 operands, or float32 ones as sums of
// three bfloat16 terms; vectors multiply bfloat16 operands.
#pragma once

#include "backend/kernel.h"

namespace laptime::avx512_bf16::attention::pairs {

// The widest head whose packed blocks fit in the scratch of a thread.
constexpr int64_t kMaxPairsWidth = 128;

// As the other kernels of scaled_dot_product_attention_cpu.cpp; rows of operands are contiguous.
void launch_amx_forward(const KernelCall& call);
void launch_amx_backward(const KernelCall& call);
int64_t amx_backward_workspace(const Signature& signature);

// Operands are bfloat16.
void launch_dot_forward(const KernelCall& call);
void launch_dot_backward(const KernelCall& call);
int64_t dot_backward_workspace(const Signature& signature);

}  // namespace laptime::avx512_bf16::attention::pairs
