// The values that forward saves for backward, found in a differentiated graph, and a cut of that graph after forward.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace laptime {

// The storages that backward reads and that exist before the step or are written by forward, in the order of creation.
// Excludes parameters and their stored copies, gradients, and optimizer states.
std::vector<StorageId> saved_storages(const Graph& graph);
// The bytes of the saved storages that exist when backward begins.
int64_t saved_bytes(const Graph& graph);

// The outputs of cut_forward that represent saved storages are named kSavedOutput + number.
inline constexpr const char* kSavedOutput = "saved/";

// Removes backward and optimizer. Storages that backward would have read stay alive until the end of the step.
Graph cut_forward(const Graph& graph);

}  // namespace laptime
