// run_cuda_ranks: ranks that are threads, each with a CUDA backend on a fake GPU (tests/fake_cuda).
#pragma once

#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "backend/cuda/cuda_backend.h"
#include "base/error.h"
#include "ops/kernels_cuda.h"
#include "support/local_group.h"

namespace laptime::test {

// Runs body(backend, group) on a thread for each rank, with a backend that has joined the group. Rank r uses the fake
// GPU r % cards.
inline void run_cuda_ranks(int ranks, int cards, const cuda::CudaOptions& options,
                           const std::function<void(cuda::CudaBackend&, LocalGroup&)>& body) {
  static constexpr std::array<std::byte, 1> kImage{};  // the fake GPU does not read the image
  static const auto kKernels = std::make_shared<const KernelTable>(cuda_kernels());
  setenv("LAPTIME_FAKE_CUDA_CARDS", std::to_string(cards).c_str(), 1);
  const cuda::FoundDriver found = cuda::find_driver();
  LAPTIME_CHECK(found.driver != nullptr, "{}", found.missing);
  run_ranks(ranks, [&](LocalGroup& group) {
    cuda::CudaBackend backend(found.driver, {}, cuda::nth_card(*found.driver, group.rank() % cards), kKernels, kImage,
                              options);
    backend.join(group);
    body(backend, group);
  });
}

}  // namespace laptime::test
