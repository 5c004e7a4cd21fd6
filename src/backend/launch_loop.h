// LaunchLoop: how one loop of a launch is divided among threads, and the resulting bound on the launch's speed-up.
#pragma once

#include <cstdint>
#include <span>

namespace laptime {

// The work of a loop. A kernel must state the work of its loops if it has several loops, or if units differ in size.
struct LoopWork {
  double flops = 0;    // total over all units, including kFlopsPerElement for each element moved; 0 if not stated
  double largest = 1;  // work of the largest unit relative to the mean
};

// FLOPs that a core computes in the time it takes to move a 4-byte element to or from memory, assuming 100 GFLOP/s and
// 25 GB/s. Used to weight the loops of one kernel relative to each other.
inline constexpr double kFlopsPerElement = 16;
inline LoopWork moving(int64_t elements) { return {kFlopsPerElement * static_cast<double>(elements)}; }

struct LaunchLoop {
  int64_t units = 0;  // number of units that different threads may run at the same time
  LoopWork work;
};

// Work of the largest unit of these loops as a share of their total work; 1 if there are no loops.
double largest_unit_share(std::span<const LaunchLoop> loops);

// Upper bound on the speed-up of these loops, run one after the other on `threads` threads, assuming that threads do
// not slow each other down; 1 if there are no loops.
double speed_up_bound(std::span<const LaunchLoop> loops, int threads);

}  // namespace laptime
