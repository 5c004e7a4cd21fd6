// Rounds allocations up to the bytes that they hold.
#pragma once

#include <cstdint>

namespace laptime::cpu {

// The bytes that Pages(bytes) holds: whole pages, from 2 MiB on huge ones.
int64_t held_bytes(int64_t bytes);

}  // namespace laptime::cpu
