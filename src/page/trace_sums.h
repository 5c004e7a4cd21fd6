// TraceSums: the figures of one trace that a page draws, together with the times of its point.
#pragma once

#include <string>
#include <vector>

#include "analysis/launch_sums.h"
#include "analysis/memory_ledger.h"
#include "page/points.h"

namespace laptime {

// Launches of one kernel in one phase.
struct KernelOfPhase {
  std::string phase;
  std::string work_class;
  std::string kernel;  // "matmul:tiles_avx512"
  int64_t calls = 0;
  double seconds = 0;  // per step
  double floor = 0;    // minimum seconds allowed by the measured peak and bandwidth; 0 if unknown
  std::string bound;   // "compute" or "memory"; empty if unknown
};

// Every time is its share of the traced steps multiplied by the point's median, so that a page shows one time per
// point, regardless of the cost of timestamps after launches.
struct TraceSums {
  const PagePoint* point = nullptr;
  double step = 0;                     // seconds: the point's median, or else that of the traced steps; 0 for a plan
  double traced = 0;                   // mean seconds of a traced step
  double residue = 0;                  // seconds between launches
  std::vector<KernelOfPhase> kernels;  // ordered by phase, then longest class and kernel first
  std::vector<LaunchSum> dots;         // the dots under the roofline, longest first
  MemoryLedger ledger;

  explicit TraceSums(const PagePoint& point);

  // The seconds of each class of work, longest first.
  std::vector<std::pair<std::string, double>> classes() const;
};

}  // namespace laptime
