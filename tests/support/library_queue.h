// LibraryQueue: a queue of CUDA launches on the host that also multiplies matrices by the cuBLASLt of tests/fake_cuda.
#pragma once

#include <memory>

#include "backend/cuda/blas_products.h"
#include "backend/cuda/driver.h"
#include "support/cuda/host_queue.h"

namespace laptime::test {

// Each launch has ended when launch() returns.
class LibraryQueue : public HostQueue {
 public:
  // Error if the libraries of tests/fake_cuda are not found.
  LibraryQueue();
  ~LibraryQueue() override;
  void prepare(const cuda::BlasProduct& product) override;
  void launch(const cuda::BlasProduct& product, const cuda::BlasOperands& operands) override;
  using HostQueue::launch;

 private:
  cuda::FoundDriver found_;
  cuda::StreamHandle stream_ = nullptr;
  cuda::DeviceAddress workspace_ = 0;
  std::unique_ptr<cuda::BlasProducts> products_;
};

}  // namespace laptime::test
