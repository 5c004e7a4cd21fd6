// Attention as cuBLASLt products whose scores are stored, as kernels of the op.
#pragma once

#include <vector>

#include "backend/kernel.h"

namespace laptime::cuda {

// For float32 there are products in float32 and in tf32.
std::vector<Kernel> product_attention_kernels();
std::vector<Kernel> product_attention_backward_kernels();

}  // namespace laptime::cuda
