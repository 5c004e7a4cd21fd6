// Measures the peak FLOP/s and memory bandwidth of this machine. Reports compare the rates of steps with these peaks.
#pragma once

#include "backend/cpu/team.h"
#include "base/available_memory.h"
#include "base/host_clock.h"
#include "base/isa.h"

namespace laptime::cpu {

// Peak FLOP/s of one kind of instruction; 0 if the processor lacks the instruction.
struct ComputePeak {
  double one_core = 0;
  double all_threads = 0;
  // False if the threads lacked cores during the whole measurement, because other programs ran or a quota was used up.
  // In that case `all_threads` is too low, and concurrent_threads times one_core is a better estimate.
  bool ran_together = true;
};

// The number of the team's threads that can run at once: at most the hardware threads that this process may use.
int concurrent_threads(const Team& team);

// Measures multiply-adds on registers only: the best of many short repetitions. Takes 0.15 s, or up to 0.45 s if
// the threads lack cores. This machine must support `isa`.
ComputePeak measure_float32_peak(Team& team, Isa isa);
// Measures the faster of the two bfloat16 instructions: vdpbf16ps and tile products (AMX).
ComputePeak measure_bfloat16_peak(Team& team);

// Measures float32 products on tiles, each computed as kSplitProducts bfloat16 products.
ComputePeak measure_split_float32_peak(Team& team);

// FLOP/s of the fastest peak loop: the float32 loop or, if `bfloat16` is true, any loop. Each loop runs on all threads
// for about `time`. Kernels that run just before or after can be compared with this rate, even if the speed of the
// machine varies.
double sustained_rate(Team& team, Isa isa, bool bfloat16, Seconds time);

// Bytes per second of a stream like AdamW's, which reads four arrays and writes three of them: 28 bytes per parameter,
// not counting the fetch of a cache line before it is written. Runs on all threads for about 0.3 s and returns the rate
// of the fastest pass. Together, the arrays are twice the size of the caches that the threads can fill, so that they
// are read from memory, but at most a quarter of the available memory and at least 192 MiB. Throws OutOfMemory if less
// than that is available.
double measure_bandwidth(Team& team, Isa isa, const AvailableMemory& available = available_memory());

}  // namespace laptime::cpu
