// Upper bounds on the speed-up that kernels and steps gain from more threads.
#pragma once

#include <vector>

#include "prepare/prepare.h"
#include "record/explanation.h"

namespace laptime {

// The bounds of one launch of a kernel, for 8, 32, 64 and 128 threads. Empty if the kernel does not run on host
// threads, because of the device or because it communicates, or if its operands do not fit into the address space.
std::vector<ThreadBound> thread_bounds(const Prepared& prepared, const Kernel& kernel, const Signature& signature);

// The bounds of several launches run in sequence, each weighted by its estimated time on one thread. Ignores
// communication. Empty if the bounds of any other launch are empty.
class ThreadBoundSum {
 public:
  void add(const Signature& signature, int64_t launches, const std::vector<ThreadBound>& bounds);
  // `units` and `largest_unit` are those of the signature with the most work; of_step() leaves them empty.
  std::vector<ThreadBound> of_kernel() const;
  std::vector<ThreadBound> of_step() const;

 private:
  bool is_known_ = true;
  double work_ = 0;
  double largest_work_ = 0;           // work of the signature with the most work
  std::vector<ThreadBound> largest_;  // bounds of that signature
  std::vector<double> times_;         // time for each number of threads, in units of work
};

}  // namespace laptime
