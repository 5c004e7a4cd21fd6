// CUDA kernels of ReLU.
#pragma once

#include "backend/cuda/tensor.h"

namespace laptime::cuda {

// y = max(x, 0); NaN stays NaN
struct ReluForward {
  using Args = Elements<2>;  // y, x
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    for_elements(thread, args, [&](const auto& at) {
      const float x = load(thread, args.operand[1], at.of[1]);
      store(thread, args.operand[0], at.of[0], x < 0 ? 0 : x);
    });
  }
};
LAPTIME_CUDA_KERNEL(ReluForward, relu_forward)

// grad_x = grad_y if y > 0, otherwise 0
struct ReluBackward {
  using Args = Elements<3>;  // grad_x, grad_y, y
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    for_elements(thread, args, [&](const auto& at) {
      const bool passes = load(thread, args.operand[2], at.of[2]) > 0;
      store(thread, args.operand[0], at.of[0], passes ? load(thread, args.operand[1], at.of[1]) : 0.0F);
    });
  }
};
LAPTIME_CUDA_KERNEL(ReluBackward, relu_backward)

}  // namespace laptime::cuda
