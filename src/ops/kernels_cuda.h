// The kernels of CUDA devices: their table, and their device code.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "backend/kernel.h"

namespace laptime {

// The kernels of each op are in order of preference. All kernels run in a cuda::Queue.
std::vector<Kernel> cuda_kernels();

// The image for the CUDA driver: all kernels declared by LAPTIME_CUDA_KERNEL, for several generations of GPUs. Empty
// in a build without the CUDA toolkit.
std::span<const std::byte> cuda_image();

}  // namespace laptime
