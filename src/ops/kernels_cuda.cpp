// Collects the kernels of CUDA devices from all op families.
#include "ops/kernels_cuda.h"

// A family without kernels expands to nothing.
#define LAPTIME_FAMILY_0(action)
#define LAPTIME_FAMILY_1(action) action

namespace laptime {

namespace cuda {
#define LAPTIME_OP_FAMILY(family, has_kernels, has_cuda_kernels) \
  LAPTIME_FAMILY_##has_cuda_kernels(std::vector<Kernel> family##_kernels();)
#include "ops/op_list.inc"
#undef LAPTIME_OP_FAMILY
}  // namespace cuda

std::vector<Kernel> cuda_kernels() {
  std::vector<Kernel> kernels;
  const auto append = [&](std::vector<Kernel> more) {
    for (Kernel& kernel : more) kernels.push_back(std::move(kernel));
  };
#define LAPTIME_OP_FAMILY(family, has_kernels, has_cuda_kernels) \
  LAPTIME_FAMILY_##has_cuda_kernels(append(cuda::family##_kernels());)
#include "ops/op_list.inc"
#undef LAPTIME_OP_FAMILY
  return kernels;
}

}  // namespace laptime
