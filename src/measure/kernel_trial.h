// The trial: kernels of one signature raced against each other on this machine.
#pragma once

#include <vector>

#include "prepare/kernel_choice.h"

namespace laptime {

// Times every candidate (the reference aside) of each signature in the graph that has more than one and no choice yet,
// on random operands; adds the fastest to `choices` and returns what was added, fingerprint and date left empty.
std::vector<KernelChoice> try_kernels(const Graph& graph, Backend& backend, KernelChoices& choices);

}  // namespace laptime
