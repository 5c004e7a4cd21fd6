// The trial: kernels of one signature raced against each other on this machine.
#pragma once

#include <vector>

#include "backend/backend.h"
#include "prepare/kernel_choice.h"

namespace laptime {

// Times every candidate (the reference aside) of each signature in the graph that has more than one and no choice yet,
// on random operands. Returns the fastest of each, device and date left empty.
std::vector<KernelChoice> try_kernels(const Graph& graph, const KernelChoices& choices, Backend& backend);

}  // namespace laptime
