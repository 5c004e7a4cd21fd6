// The size of a core's own cache.
#pragma once

#include <cstdint>

namespace laptime::cpu {

// Bytes of the L2 cache of a core; 1 MiB if the machine does not report it.
int64_t second_level_cache();

}  // namespace laptime::cpu
