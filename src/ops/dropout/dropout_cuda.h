// CUDA kernels of dropout.
#pragma once

#include "backend/cuda/tensor.h"
#include "ops/dropout_key.h"

namespace laptime::cuda {

// y = x scale if the top 24 bits of splitmix64(key + i) are at least `threshold`, otherwise 0; i is the row-major
// index.
struct DropoutForward {
  struct Args {
    DeviceRows x;     // one element per row
    DeviceRows step;  // a single number
    DeviceData y;     // contiguous
    DeviceData mask;  // contiguous; may be absent
    int64_t count;
    DropoutCounter counter;
    uint32_t threshold;
    float scale;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const uint64_t key = args.counter.key(load<int64_t>(thread, args.step, 0));
    for_indices(thread, args.count, [&](int64_t at) {
      const bool kept = (splitmix64(key + static_cast<uint64_t>(at)) >> 40U) >= args.threshold;
      const float x = load(thread, args.x, args.x.row(at));
      store(thread, args.y, at, kept ? x * args.scale : 0.0F);
      if (args.mask.data != nullptr) store(thread, args.mask, at, kept ? 1 : 0);
    });
  }
};
LAPTIME_CUDA_KERNEL(DropoutForward, dropout_forward)

// grad_x = grad_y scale if the mask is true, otherwise 0
struct DropoutBackward {
  struct Args {
    Elements<3> elements;  // grad_x, grad_y, mask
    float scale;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const auto& grad_x = args.elements.operand[0];
    const auto& grad_y = args.elements.operand[1];
    const auto& mask = args.elements.operand[2];
    for_elements(thread, args.elements, [&](const auto& at) {
      const bool kept = load(thread, mask, at.of[2]) != 0;
      store(thread, grad_x, at.of[0], kept ? load(thread, grad_y, at.of[1]) * args.scale : 0.0F);
    });
  }
};
LAPTIME_CUDA_KERNEL(DropoutBackward, dropout_backward)

}  // namespace laptime::cuda
