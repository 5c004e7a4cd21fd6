// Expansion of cuda_families.inc into the kernels of CUDA devices.
#include "ops/kernels_cuda.h"

namespace laptime {

#define LAPTIME_CUDA_FAMILY(family)       \
  namespace cuda {                        \
  std::vector<Kernel> family##_kernels(); \
  }
#include "ops/cuda_families.inc"
#undef LAPTIME_CUDA_FAMILY

std::vector<Kernel> cuda_kernels() {
  std::vector<Kernel> kernels;
  const auto append = [&](std::vector<Kernel> more) {
    for (Kernel& kernel : more) kernels.push_back(std::move(kernel));
  };
#define LAPTIME_CUDA_FAMILY(family) append(cuda::family##_kernels());
#include "ops/cuda_families.inc"
#undef LAPTIME_CUDA_FAMILY
  return kernels;
}

}  // namespace laptime
