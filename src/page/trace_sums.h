// TraceSums: the figures of one trace that a page draws, together with the times of its point.
#pragma once

#include <vector>

#include "analysis/launch_sums.h"
#include "analysis/memory_ledger.h"
#include "page/points.h"

namespace laptime {

// Every time is a share of the traced steps, multiplied by the point's median, or for the pass `backward` by the sum of
// the medians of forward and backward. The times of a page thus agree with the medians, regardless of the cost of
// timestamps after launches.
struct TraceSums {
  const PagePoint* point = nullptr;
  double step = 0;                 // seconds: the median or sum above, or else `traced`; 0 for a plan
  double traced = 0;               // mean seconds of a traced step
  double residue = 0;              // seconds between launches
  std::vector<LaunchSum> kernels;  // per phase, class and kernel_of; ordered by phase, class, time (longest first)
  std::vector<LaunchSum> classes;  // the classes of work, longest first
  std::vector<LaunchSum> dots;     // per phase and op with FLOPs, bytes and time; longest first
  MemoryLedger ledger;

  explicit TraceSums(const PagePoint& point);
};

}  // namespace laptime
