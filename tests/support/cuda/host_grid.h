// HostGrid: runs a CUDA kernel on the host, block by block, the threads of a block as fibers. It finds what a card
// would let pass or answer with wrong numbers: races, barriers that not all threads reach, shared memory out of bounds
// or read before it is written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cuda/device_code.h"

namespace laptime::test {

// A kernel as the host can run it.
struct HostKernel {
  const char* name = "";
  size_t args_bytes = 0;
  size_t shared_bytes = 0;
  void (*run)(const cuda::Thread& thread, const void* args, void* shared) = nullptr;
};

template <class K>
constexpr HostKernel host_kernel() {
  return {K::kName, sizeof(typename K::Args), sizeof(typename K::Shared),
          [](const cuda::Thread& thread, const void* args, void* shared) {
            K::run(thread, *static_cast<const typename K::Args*>(args), *static_cast<typename K::Shared*>(shared));
          }};
}

// In which order the threads of a block, and the blocks of a grid, take their turns.
enum class Turns : uint8_t { kForward, kBackward, kDrawn };

// `checked`: follow every access to memory, and report
//   - two threads that access the same element with no barrier between them, one of them writing; threads of different
//     blocks have none,
//   - shared elements that are read before they are written.
struct HostGridOptions {
  Turns turns = Turns::kForward;
  bool checked = true;
};

// Runs `blocks` blocks of `threads` threads. Throws Error with the kernel, the threads and the places in its source.
// Whatever the options, it reports barriers and exchanges that not all threads reach, and indices out of bounds.
void run_grid(const HostKernel& kernel, int64_t blocks, int threads, const void* args,
              const HostGridOptions& options = {});

}  // namespace laptime::test
