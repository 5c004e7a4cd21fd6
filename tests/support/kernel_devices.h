// The devices on which tests run kernels, and the kernels of each op on these devices.
#pragma once

#include <vector>

#include "backend/backend.h"
#include "backend/kernel.h"

namespace laptime::test {

// Ways to run a kernel that must give the same bits.
constexpr int kWays = 3;

// A kind of device whose kernels run here.
struct KernelDevice {
  Queue& (*queue)(int way) = nullptr;
  const char* (*name_of)(int way) = nullptr;
  int first_again = 0;           // 0: way 0 runs twice
  bool is_slow = false;          // kernels run on few elements only
  Backend& (*card)() = nullptr;  // a device with memory of its own, which takes the place of the queues
};

// On 1, 2 and 3 threads.
const KernelDevice& on_cpu();

struct KernelOnDevice {
  Kernel kernel;
  const KernelDevice* device = nullptr;
};

// The kernels of an op for every instruction set of this machine and, on the host, for CUDA devices; without
// references. Where the environment says LAPTIME_CONFORMANCE=card, only those for CUDA devices, on the first card of
// this machine.
const std::vector<KernelOnDevice>& kernels_to_check(const OpCard& op);

}  // namespace laptime::test
