// The processors that this process may use, and the sizes of their caches.
#pragma once

#include <cstdint>
#include <vector>

namespace laptime::cpu {

// Numbers of the processors in the affinity mask, in ascending order.
std::vector<int> allowed_cores();

// One thread per allowed processor, limited to the CPU quota of the control groups rounded up; at least 1.
int default_threads();

// Bytes of the L2 cache of a core; 1 MiB if the machine does not report it.
int64_t second_level_cache();

// Bytes of the L3 cache; 0 if the machine does not report one.
int64_t third_level_cache();

}  // namespace laptime::cpu
