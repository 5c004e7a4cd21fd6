// Compiles every CUDA kernel for the host.
#include <map>

#include "ops/device_code_cuda.h"
#include "support/cuda/host_queue.h"

namespace laptime::test {

const HostKernel* find_host_kernel(std::string_view name) {
  static const std::map<std::string_view, HostKernel> kKernels{
#define LAPTIME_CUDA_KERNEL(type, kernel_name) {#kernel_name, host_kernel<cuda::type>()},
#include "ops/cuda_kernels.inc"
#undef LAPTIME_CUDA_KERNEL
  };
#define LAPTIME_CUDA_KERNEL(type, kernel_name)                       \
  static_assert(std::string_view(cuda::type::kName) == #kernel_name, \
                #type " has another name in its source than in ops/cuda_kernels.inc");
#include "ops/cuda_kernels.inc"
#undef LAPTIME_CUDA_KERNEL
  const auto found = kKernels.find(name);
  return found == kKernels.end() ? nullptr : &found->second;
}

}  // namespace laptime::test
