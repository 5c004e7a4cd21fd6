// The kernel trial: finds the fastest kernel of each signature on this machine.
#pragma once

#include <vector>

#include "backend/backend.h"
#include "prepare/prepare.h"

namespace laptime {

// Times the candidates, except the reference, of each signature in the plan that has several and no choice yet, on
// random operands. Candidates that need more memory than the point may use are left out. Returns the fastest kernel of
// each raced signature, without device and date.
std::vector<KernelChoice> try_kernels(const Prepared& prepared, Backend& backend);

}  // namespace laptime
