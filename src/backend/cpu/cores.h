// The sizes of the caches of this processor.
#pragma once

#include <cstdint>

namespace laptime::cpu {

// Bytes of the L2 cache of a core; 1 MiB if the machine does not report it.
int64_t second_level_cache();

// Bytes of the L3 cache as the C library reports it, for machines whose kernel does not list caches; 0 if unknown.
int64_t third_level_cache();

}  // namespace laptime::cpu
