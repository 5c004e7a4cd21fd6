// The queue of a CUDA device, and launches of kernels into it.
#pragma once

#include "backend/cuda/libraries/blas_products.h"
#include "backend/cuda/libraries/dnn_attention.h"
#include "backend/cuda/tensor.h"
#include "backend/kernel.h"

namespace laptime::cuda {

// A grid of blocks that all run the same kernel.
struct GridLaunch {
  const char* kernel = "";  // the kernel's name in LAPTIME_CUDA_KERNEL
  int64_t blocks = 0;       // at least 1
  int threads = 0;          // per block; a multiple of kWarp, at most kMaxBlock
  const void* args = nullptr;
  size_t args_bytes = 0;
};

class Queue : public laptime::Queue {
 public:
  // Launches are executed in order.
  virtual void launch(const GridLaunch& launch) = 0;
  // Matrix products in cuBLASLt and attention in cuDNN, for kernels that name the library in Kernel::library. prepare()
  // may throw.
  virtual void prepare(const BlasProduct& product) = 0;
  virtual void launch(const BlasProduct& product, const BlasOperands& operands) = 0;
  virtual void prepare(const DnnAttention& attention) = 0;
  virtual void launch(const DnnAttention& attention, const DnnAttentionOperands& operands) = 0;
};

template <class K>
void launch(const KernelCall& call, int64_t blocks, int threads, const typename K::Args& args) {
  static_cast<Queue&>(call.queue).launch({kKernelName<K>, blocks, threads, &args, sizeof(args)});
}

constexpr int kElementThreads = 256;

// Launches one thread per element. If there are more elements than threads in 2^20 blocks, each thread takes several.
template <class K>
void launch_elements(const KernelCall& call, int64_t count, const typename K::Args& args) {
  constexpr int64_t kMostBlocks = int64_t{1} << 20;
  const int64_t blocks = (count + kElementThreads - 1) / kElementThreads;
  launch<K>(call, blocks < 1 ? 1 : blocks > kMostBlocks ? kMostBlocks : blocks, kElementThreads, args);
}

// The elements of a view, starting at its first element; null if the view is absent.
inline DeviceData device_data(const TensorView& view) {
  const DType dtype = view.type.dtype;
  return {view.data == nullptr ? nullptr : view.data + view.type.layout.offset * size_of(dtype), dtype};
}

}  // namespace laptime::cuda
