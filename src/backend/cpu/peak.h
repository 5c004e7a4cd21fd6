// What this machine's cores and memory can do at most, measured: what every figure is a fraction of.
#pragma once

#include "backend/cpu/isa.h"
#include "backend/cpu/team.h"

namespace laptime::cpu {

// FLOP/s; 0 where the instruction set has no such instruction.
struct ComputePeak {
  double one_core = 0;
  double all_threads = 0;
};

// Multiply-adds on registers alone, the best of many short repetitions; 0.15 s each. `isa` must be one this machine
// runs.
ComputePeak measure_float32_peak(Team& team, Isa isa);
ComputePeak measure_bfloat16_peak(Team& team, Isa isa);  // vdpbf16ps

// Bytes per second of a stream like AdamW's, four arrays read and three of them written (28 bytes a parameter, fetches
// before writes not counted), over 192 MiB, the best of 10 passes with all threads; 0.1 to 0.3 s. Throws OutOfMemory.
double measure_bandwidth(Team& team, Isa isa);

}  // namespace laptime::cpu
