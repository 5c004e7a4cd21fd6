// run_grid: runs a CUDA kernel on the host, block by block, with the threads of a block as fibers. It detects errors
// that a GPU often does not report: races, barriers that not all threads reach, addresses that are not aligned, and
// shared memory accessed out of bounds or read before it is written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device_code.h"

namespace laptime::test {

// A kernel in a form that the host can run.
struct HostKernel {
  const char* name = "";
  size_t args_bytes = 0;
  size_t shared_bytes = 0;
  void (*run)(const cuda::Thread& thread, const void* args, void* shared) = nullptr;
};

template <class K>
constexpr HostKernel host_kernel() {
  return {cuda::kKernelName<K>, sizeof(typename K::Args), sizeof(typename K::Shared),
          [](const cuda::Thread& thread, const void* args, void* shared) {
            K::run(thread, *static_cast<const typename K::Args*>(args), *static_cast<typename K::Shared*>(shared));
          }};
}

// The order of the threads of a block and of the blocks of a grid. With kDrawn, the order of threads is pseudorandom,
// and blocks run in order.
enum class Turns : uint8_t { kForward, kBackward, kDrawn };

// If `checked`, every memory access is tracked, and these errors are reported:
//   - races: two threads access the same element, one of them writes, and no barrier separates the accesses; there are
//     no barriers between blocks,
//   - reads of shared elements that have not been written.
struct HostGridOptions {
  Turns turns = Turns::kForward;
  bool checked = true;
};

// Runs `blocks` blocks of `threads` threads. An Error names the kernel, the threads and the source lines. Barriers and
// exchanges that not all threads reach, shared-memory indices out of bounds and misaligned addresses are reported even
// if not `checked`.
void run_grid(const HostKernel& kernel, int64_t blocks, int threads, const void* args,
              const HostGridOptions& options = {});

}  // namespace laptime::test
