// Kernels of attention that use cuDNN.
#pragma once

#include "backend/kernel.h"

namespace laptime::cuda {

Kernel dnn_attention_kernel();
Kernel dnn_attention_backward_kernel();

}  // namespace laptime::cuda
