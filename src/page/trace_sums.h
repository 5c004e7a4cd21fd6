// TraceSums: the figures of one trace that a page draws, with the times of the point that it belongs to.
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
  double floor = 0;    // the least seconds that the measured peak and bandwidth allow; 0 if unknown
  std::string bound;   // "compute" or "memory"; empty if unknown
};

// Every time is its share of the traced steps times the median of the point, so that a page has one time for each
// point, whatever the marks after launches took.
struct TraceSums {
  const PagePoint* point = nullptr;
  double step = 0;                     // seconds: the median of the point, or the traced steps without one; 0 of a plan
  double traced = 0;                   // seconds of the mean traced step
  double residue = 0;                  // seconds between launches
  std::vector<KernelOfPhase> kernels;  // phases in their order, and in each the longest class and kernel first
  std::vector<RooflineDot> dots;       // the longest first
  MemoryLedger ledger;

  explicit TraceSums(const PagePoint& point);

  // The seconds of each class of work, the longest first.
  std::vector<std::pair<std::string, double>> classes() const;
};

}  // namespace laptime
