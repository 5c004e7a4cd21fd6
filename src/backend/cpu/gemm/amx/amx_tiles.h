// The tile registers of AMX: eight tiles of 16 rows. A row contains 16 float32 sums or 16 pairs of bfloat16.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "backend/cpu/isa_namespace.h"

// Marks functions that use the tiles. They may run only if cpu::may_use_tiles() is true.
#define LAPTIME_AMX __attribute__((target("amx-tile,amx-bf16")))

namespace laptime::LAPTIME_ISA::gemm_amx {

namespace detail {

// The operand of ldtilecfg.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
// Global, not local: the intrinsic declares that it reads only the first bytes of its operand, so the compiler could
// drop stores to the other bytes of a local variable.
inline constexpr TileConfig kTileConfig;

}  // namespace detail

// A thread configures the tiles before it uses them and releases them afterwards: while they are configured, the
// operating system saves them at every context switch.
LAPTIME_AMX inline void configure_tiles() { _tile_loadconfig(&detail::kTileConfig); }
LAPTIME_AMX inline void release_tiles() { _tile_release(); }

// A compiler barrier for use before tile loads: their intrinsics do not tell the compiler which memory they read.
inline void finish_stores() { __asm__ volatile("" ::: "memory"); }

}  // namespace laptime::LAPTIME_ISA::gemm_amx
