// The processors that this process may use, and the size of their L2 cache.
#pragma once

#include <cstdint>
#include <vector>

namespace laptime::cpu {

// Numbers of the processors in the affinity mask, ascending.
std::vector<int> allowed_cores();

// One thread for each allowed processor, but no more than the control groups' CPU quota rounded up; at least 1.
int default_threads();

// Bytes of a core's L2 cache; 1 MiB where the machine does not report it.
int64_t second_level_cache();

}  // namespace laptime::cpu
