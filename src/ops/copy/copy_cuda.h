// CUDA kernel that adds the gradient of a slice to another gradient.
#pragma once

#include "backend/cuda/tensor.h"

namespace laptime::cuda {

struct AddToWindow {
  using Args = Elements<2>;  // operands: window, grad
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    for_elements(thread, args, [&](const auto& at) {
      const float sum = load(thread, args.operand[0], at.of[0]) + load(thread, args.operand[1], at.of[1]);
      store(thread, args.operand[0], at.of[0], sum);
    });
  }
};
LAPTIME_CUDA_KERNEL(AddToWindow, add_to_window)

}  // namespace laptime::cuda
