// CUDA kernel of the clipping coefficient.
#pragma once

#include "backend/cuda/tensor.h"

namespace laptime::cuda {

// Runs on one thread. Computes min(1, max_norm / (norm + epsilon)).
struct ClipCoefficient {
  struct Args {
    DeviceData norm, coefficient;
    double max_norm, epsilon;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    if (thread.index() != 0) return;
    const double ratio = args.max_norm / (load<double>(thread, args.norm, 0) + args.epsilon);
    store(thread, args.coefficient, 0, ratio < 1 ? ratio : 1.0);
  }
};
LAPTIME_CUDA_KERNEL(ClipCoefficient, clip_coefficient)

}  // namespace laptime::cuda
