// The kernel trial: finds the fastest kernel of each signature on this machine.
#pragma once

#include <vector>

#include "backend/backend.h"
#include "prepare/prepare.h"

namespace laptime {

// Choices without device and date.
struct TriedKernels {
  std::vector<KernelChoice> raced;    // the fastest kernel of each signature whose kernels were timed
  std::vector<KernelChoice> assumed;  // for this run alone: what did best in the races of the op, without seconds

  bool empty() const { return raced.empty() && assumed.empty(); }
  void add_to(std::vector<KernelChoice>& choices) const;
};

// Times the candidates, except the reference, of each signature in the plan that has several and no choice yet, on
// random operands. Candidates that need more memory than the point may use are left out. The signatures of least work
// come first; once the races took 0.2 s, or 5 s on a device with a clock of its own, those of ops that had a race are
// left to the next run. A race that is too close to call goes to the kernel that did best in all races of the op.
TriedKernels try_kernels(const Prepared& prepared, Backend& backend);

}  // namespace laptime
