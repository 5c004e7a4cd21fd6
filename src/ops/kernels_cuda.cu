// The entry points of all CUDA kernels.
#include <cuda_kernels.h>
