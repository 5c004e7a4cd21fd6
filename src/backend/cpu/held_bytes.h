// Rounds the sizes of allocations up to the bytes that they actually occupy.
#pragma once

#include <cstdint>

namespace laptime::cpu {

// The bytes that Pages(bytes) occupies: whole pages, which are huge pages from 2 MiB on.
int64_t held_bytes(int64_t bytes);

}  // namespace laptime::cpu
