// Attention by the tiles of AMX, where they are: float32 as three bfloat16 each, or bfloat16.
#pragma once

#include "backend/kernel.h"

namespace laptime::avx512_bf16 {

// As the kernels of scaled_dot_product_attention_cpu.cpp, of float32 or bfloat16 operands whose rows have no gaps;
// heads up to this width, so that what they pack fits in the scratch.
constexpr int64_t kWidestAmxHead = 128;
void amx_attention(const KernelCall& call);
void amx_attention_backward(const KernelCall& call);
int64_t amx_attention_backward_workspace(const Signature& signature);

}  // namespace laptime::avx512_bf16
