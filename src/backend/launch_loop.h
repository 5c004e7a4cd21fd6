// LaunchLoop: how one loop of a launch divides among threads, and the bound on a launch's speed-up that follows.
#pragma once

#include <cstdint>
#include <span>

namespace laptime {

// The work of a loop. A kernel states it where it has several loops, or units of unequal size.
struct LoopWork {
  double flops = 0;    // of all units, with kFlopsPerElement for each element moved; 0: not stated
  double largest = 1;  // work of the largest unit relative to the mean
};

// FLOPs that a core computes in the time in which it moves a 4-byte element to or from memory: about 100 GFLOP/s and
// 25 GB/s. It weighs the loops of one kernel against each other.
inline constexpr double kFlopsPerElement = 16;
inline LoopWork moving(int64_t elements) { return {kFlopsPerElement * static_cast<double>(elements)}; }

struct LaunchLoop {
  int64_t units = 0;  // that different threads may run at once
  LoopWork work;
};

// Work of the largest unit of these loops as a share of the work of them all; 1 without a loop.
double largest_unit_share(std::span<const LaunchLoop> loops);

// How many times as fast as on one thread `threads` threads can run these loops, one after the other, if every thread
// is as fast as that one; 1 without a loop.
double speed_up_bound(std::span<const LaunchLoop> loops, int threads);

}  // namespace laptime
