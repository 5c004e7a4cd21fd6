// The kernels of CUDA devices: their table, and their device code.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "backend/kernel.h"

namespace laptime {

// In order of preference for each op. They run in a cuda::Queue.
std::vector<Kernel> cuda_kernels();

// Image for the CUDA driver: every kernel of cuda_kernels.inc for several generations of cards. Empty in a build
// without the CUDA toolkit.
std::span<const std::byte> cuda_image();

}  // namespace laptime
