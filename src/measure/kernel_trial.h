// The kernel trial: finds the fastest kernel for each signature on this machine.
#pragma once

#include <vector>

#include "backend/backend.h"
#include "prepare/prepare.h"

namespace laptime {

// Kernel choices; the caller adds device and date.
struct TriedKernels {
  std::vector<KernelChoice> raced;    // the fastest kernel for each signature whose kernels were timed
  std::vector<KernelChoice> assumed;  // for this run only: the kernel that did best in all races of the op; no times

  bool empty() const { return raced.empty() && assumed.empty(); }
  void add_to(std::vector<KernelChoice>& choices) const;
};

// Times the candidates, except the reference, on random operands, for each signature in the plan that has several
// candidates and no choice yet. Excludes candidates that need more memory than the point may use. Signatures with the
// least work come first; once the races have taken 0.12 s, or 5 s on a device with its own clock, signatures of ops
// that already had a race are left to the next run. A race that is too close to call goes to the kernel that performed
// best in all races of the op.
TriedKernels try_kernels(const Prepared& prepared, Backend& backend);

}  // namespace laptime
