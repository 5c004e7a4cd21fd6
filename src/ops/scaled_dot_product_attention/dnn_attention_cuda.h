// Kernels of attention that use cuDNN.
#pragma once

#include <vector>

#include "backend/kernel.h"

namespace laptime::cuda {

std::vector<Kernel> dnn_attention_kernels();

}  // namespace laptime::cuda
