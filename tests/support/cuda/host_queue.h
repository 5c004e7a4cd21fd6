// HostQueue: a queue that runs CUDA launches on the host.
#pragma once

#include <string_view>

#include "backend/cuda/queue.h"
#include "base/error.h"
#include "support/cuda/host_grid.h"

namespace laptime::test {

// The kernel that LAPTIME_CUDA_KERNEL declares under this name; null if no header in the build declares it.
const HostKernel* find_host_kernel(std::string_view name);

// launch() of a kernel returns when the kernel has ended, and throws the errors of run_grid. Library calls are
// rejected.
class HostQueue : public cuda::Queue {
 public:
  explicit HostQueue(const HostGridOptions& options) : options_(options) {}
  void launch(const cuda::GridLaunch& launch) override {
    const HostKernel* const kernel = find_host_kernel(launch.kernel);
    LAPTIME_CHECK(kernel != nullptr && kernel->args_bytes == launch.args_bytes,
                  "no header in backend/cuda or named *_cuda.h declares the kernel {} with {} bytes of arguments",
                  launch.kernel, launch.args_bytes);
    run_grid(*kernel, launch.blocks, launch.threads, launch.args, options_);
  }
  void prepare(const cuda::BlasProduct&) override { refuse(); }
  void launch(const cuda::BlasProduct&, const cuda::BlasOperands&) override { refuse(); }
  void prepare(const cuda::DnnAttention&) override { refuse(); }
  void launch(const cuda::DnnAttention&, const cuda::DnnAttentionOperands&) override { refuse(); }

 private:
  static void refuse() { throw Error("HostQueue cannot call libraries; use LibraryQueue"); }

  HostGridOptions options_;
};

}  // namespace laptime::test
