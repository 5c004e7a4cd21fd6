// Compiles every CUDA kernel for the host, and finds kernels by name.
#include <map>

#include "support/cuda/host_queue.h"

namespace laptime::test {
namespace {

std::map<std::string_view, HostKernel>& host_kernels() {
  static std::map<std::string_view, HostKernel> kernels;
  return kernels;
}

bool add(const HostKernel& kernel) {
  LAPTIME_CHECK(host_kernels().emplace(kernel.name, kernel).second, "two CUDA kernels have the name {}", kernel.name);
  return true;
}

}  // namespace

const HostKernel* find_host_kernel(std::string_view name) {
  const auto found = host_kernels().find(name);
  return found == host_kernels().end() ? nullptr : &found->second;
}

}  // namespace laptime::test

#undef LAPTIME_FOR_CUDA_KERNEL
#define LAPTIME_FOR_CUDA_KERNEL(type, name) \
  [[maybe_unused]] const bool kAdded_##name = laptime::test::add(laptime::test::host_kernel<type>());
#include <cuda_kernels.h>
