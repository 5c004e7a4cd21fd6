// Kernels of attention that use cuBLASLt products and store the scores.
#pragma once

#include <vector>

#include "backend/kernel.h"

namespace laptime::cuda {

// Kernels for float32 operands, some of which compute products in float32, the others in TF32.
std::vector<Kernel> product_attention_kernels();

}  // namespace laptime::cuda
