// The trial: kernels of one signature raced against each other on this machine.
#pragma once

#include <vector>

#include "backend/backend.h"
#include "prepare/prepare.h"

namespace laptime {

// Times every candidate (the reference aside) of each signature in the plan that has more than one and no choice yet,
// on random operands. A candidate that would need more memory than the point may take does not take part. Returns the
// fastest of each signature that had a race, device and date left empty.
std::vector<KernelChoice> try_kernels(const Prepared& prepared, Backend& backend);

}  // namespace laptime
