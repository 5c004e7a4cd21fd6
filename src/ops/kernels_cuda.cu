// The entry points of all kernels, for the card.
#include "ops/device_code_cuda.h"

#define LAPTIME_CUDA_KERNEL(type, name)                                                          \
  extern "C" __global__ void name(const __grid_constant__ laptime::cuda::type::Args args) {     \
    __shared__ laptime::cuda::type::Shared shared;                                               \
    laptime::cuda::type::run({}, args, shared);                                                  \
  }
#include "ops/cuda_kernels.inc"
#undef LAPTIME_CUDA_KERNEL
