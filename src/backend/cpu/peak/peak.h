// Measures the peak FLOP rate and memory bandwidth of this machine, the denominators of every fraction.
#pragma once

#include "backend/cpu/team.h"
#include "base/host_clock.h"
#include "base/isa.h"

namespace laptime::cpu {

// FLOP/s; 0 where there is no such instruction.
struct ComputePeak {
  double one_core = 0;
  double all_threads = 0;
  // Whether the threads ever had a core each while they were measured. If not, because other programs ran or a quota
  // was used up, `all_threads` says little of the machine, and threads times one_core is a better estimate.
  bool ran_together = true;
};

// Multiply-adds on registers alone, the best of many short repetitions; 0.15 s each. `isa` must be one this machine
// runs.
ComputePeak measure_float32_peak(Team& team, Isa isa);
// The faster of the instructions that multiply bfloat16: vdpbf16ps, products of tiles (AMX).
ComputePeak measure_bfloat16_peak(Team& team);

// float32 products by tiles, each as kSplitProducts of bfloat16.
ComputePeak measure_split_float32_peak(Team& team);

// FLOP/s of the fastest of these loops (float32's alone, or also those of bfloat16), each sustained with all threads
// for about `time`: what a kernel that runs just before or after is compared with where speed changes from moment to
// moment.
double sustained_rate(Team& team, Isa isa, bool bfloat16, Seconds time);

// Bytes per second of a stream like AdamW's, four arrays read and three of them written (28 bytes a parameter; that a
// cache line is fetched before it is written is not counted), the best pass of about 0.3 s with all threads. The arrays
// take twice the L3 cache, so that they are read from memory, but at least 192 MiB and at most a quarter of the
// available memory. Throws OutOfMemory.
double measure_bandwidth(Team& team, Isa isa);

}  // namespace laptime::cpu
