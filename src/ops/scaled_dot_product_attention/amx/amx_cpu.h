// Attention in AMX tiles: bfloat16 operands, or float32 ones as sums of three bfloat16 terms.
#pragma once

#include "backend/kernel.h"

namespace laptime::avx512_bf16::attention::amx {

// The widest head whose packed blocks fit in the scratch of a thread.
constexpr int64_t kMaxAmxWidth = 128;

// As the other kernels of scaled_dot_product_attention_cpu.cpp; operands are float32 or bfloat16 with contiguous rows.
void launch_forward(const KernelCall& call);
void launch_backward(const KernelCall& call);
int64_t backward_workspace(const Signature& signature);

}  // namespace laptime::avx512_bf16::attention::amx
