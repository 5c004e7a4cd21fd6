// Kernels of attention that use cuBLASLt products and store the scores.
#pragma once

#include <vector>

#include "backend/kernel.h"

namespace laptime::cuda {

// Kernels for float32 operands, with float32 products and with TF32 products.
std::vector<Kernel> product_attention_kernels();
std::vector<Kernel> product_attention_backward_kernels();

}  // namespace laptime::cuda
