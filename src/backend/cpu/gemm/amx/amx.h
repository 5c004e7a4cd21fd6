// The registers of AMX: eight tiles of 16 rows, each row 16 sums or 16 pairs of bfloat16.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "backend/cpu/isa_namespace.h"

// Of functions that use them; only where cpu::may_use_tiles().
#define LAPTIME_AMX __attribute__((target("amx-tile,amx-bf16")))

namespace laptime::LAPTIME_ISA {

namespace detail {

struct alignas(64) AmxShape {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
inline constexpr AmxShape kAmxShape;  // in memory as it is: the compiler sees only its first bytes read

}  // namespace detail

// A thread configures them before its first tile and releases them after its last: as long as it holds them, the system
// saves them at every switch of threads.
LAPTIME_AMX inline void configure_amx() { _tile_loadconfig(&detail::kAmxShape); }
LAPTIME_AMX inline void release_amx() { _tile_release(); }

// Before tiles are loaded: the intrinsics do not tell the compiler which memory they read.
inline void finish_stores() { __asm__ volatile("" ::: "memory"); }

}  // namespace laptime::LAPTIME_ISA
