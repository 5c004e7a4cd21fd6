// Measures the peak FLOP rate and memory bandwidth of this machine, which are the denominators of every fraction.
#pragma once

#include "backend/cpu/team.h"
#include "base/host_clock.h"
#include "base/isa.h"

namespace laptime::cpu {

// FLOP/s; 0 if there is no such instruction.
struct ComputePeak {
  double one_core = 0;
  double all_threads = 0;
  // Whether each thread had its own core at some time during the measurement. If not, because other programs ran or a
  // quota was used up, `all_threads` is not representative, and the number of threads times one_core is a better
  // estimate.
  bool ran_together = true;
};

// Multiply-adds on registers only; the best of many short repetitions, 0.15 s for each number. This machine must
// support `isa`.
ComputePeak measure_float32_peak(Team& team, Isa isa);
// The faster of the instructions that multiply bfloat16: vdpbf16ps and tile products (AMX).
ComputePeak measure_bfloat16_peak(Team& team);

// float32 products computed with tiles, each as kSplitProducts products of bfloat16.
ComputePeak measure_split_float32_peak(Team& team);

// FLOP/s of the fastest of these loops (float32 only, or also bfloat16), each sustained on all threads for about
// `time`. If the speed of the machine varies, a kernel that runs just before or after can be compared with it.
double sustained_rate(Team& team, Isa isa, bool bfloat16, Seconds time);

// Bytes per second of a stream like AdamW's, which reads four arrays and writes three of them (28 bytes per parameter,
// not counting that a cache line is fetched before it is written). It is the best pass in about 0.3 s on all threads.
// The arrays take twice the size of the L3 cache, so that they are read from memory, but at least 192 MiB and at most a
// quarter of the available memory. Throws OutOfMemory.
double measure_bandwidth(Team& team, Isa isa);

}  // namespace laptime::cpu
