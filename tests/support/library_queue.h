// LibraryQueue: a queue that runs CUDA launches on the host with the cuBLASLt and cuDNN of tests/fake_cuda.
#pragma once

#include <memory>

#include "backend/cuda/driver.h"
#include "backend/cuda/libraries/blas_products.h"
#include "support/cuda/host_queue.h"

namespace laptime::test {

// launch() returns when the kernel has ended.
class LibraryQueue : public HostQueue {
 public:
  // Throws Error if the libraries of tests/fake_cuda are not found.
  LibraryQueue();
  ~LibraryQueue() override;
  void prepare(const cuda::BlasProduct& product) override;
  void launch(const cuda::BlasProduct& product, const cuda::BlasOperands& operands) override;
  void prepare(const cuda::DnnAttention& attention) override;
  void launch(const cuda::DnnAttention& attention, const cuda::DnnAttentionOperands& operands) override;
  using HostQueue::launch;

 private:
  cuda::FoundDriver found_;
  cuda::StreamHandle stream_ = nullptr;
  cuda::DeviceAddress workspace_ = 0;
  std::unique_ptr<cuda::BlasProducts> products_;
  std::unique_ptr<cuda::DnnAttentions> attentions_;
};

}  // namespace laptime::test
