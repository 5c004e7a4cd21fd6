// The devices on which tests run kernels, and the kernels of each op on these devices.
#pragma once

#include <vector>

#include "backend/backend.h"
#include "backend/kernel.h"

namespace laptime::test {

// Number of ways to run a kernel, which must all give the same bits.
constexpr int kWays = 3;

// A kind of device on which this program can run kernels.
struct KernelDevice {
  Queue& (*queue)(int way) = nullptr;
  const char* (*name_of)(int way) = nullptr;
  int first_again = 0;           // first way compared with way 0; if 0, way 0 itself runs twice
  bool is_slow = false;          // if true, kernels run with few elements only
  Backend& (*card)() = nullptr;  // set for a device with its own memory, instead of `queue`
};

// The CPU: ways 0, 1 and 2 run a kernel on 1, 2 and 3 threads.
const KernelDevice& on_cpu();

struct KernelOnDevice {
  Kernel kernel;
  const KernelDevice* device = nullptr;
};

// The kernels of an op, without the references: CPU kernels for every instruction set of this machine, and CUDA kernels
// on the host. If the environment variable LAPTIME_CONFORMANCE is `card`, returns only CUDA kernels, which then run on
// the first GPU of this machine.
const std::vector<KernelOnDevice>& kernels_to_check(const OpCard& op);

}  // namespace laptime::test
