// The processors this process may use, and what each has to itself.
#pragma once

#include <cstdint>
#include <vector>

namespace laptime::cpu {

// Numbers of the processors in the affinity mask, ascending.
std::vector<int> allowed_cores();

// One thread for each allowed processor, no more than the control groups' quota rounded up; at least 1.
int default_threads();

// Bytes of a core's second-level cache, 1 MiB where the machine does not say.
int64_t second_level_cache();

}  // namespace laptime::cpu
