// cuDNN attention as kernels of the op.
#pragma once

#include <vector>

#include "backend/kernel.h"

namespace laptime::cuda {

std::vector<Kernel> dnn_attention_kernels();
std::vector<Kernel> dnn_attention_backward_kernels();

}  // namespace laptime::cuda
