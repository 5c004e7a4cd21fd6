// What forward saves for backward, as found in a differentiated graph, and the cut of that graph after forward.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace laptime {

// Every storage, other than parameters and gradients, that exists before backward and that backward reads; each once,
// in the order in which they are made.
std::vector<StorageId> saved_storages(const Graph& graph);
int64_t saved_bytes(const Graph& graph);

// The outputs of cut_forward that stand for saved storages are named kSavedOutput + number.
inline constexpr const char* kSavedOutput = "saved/";

// Drops backward and optimizer. Storages that backward would have read stay alive until the end of the step.
Graph cut_forward(const Graph& graph);

}  // namespace laptime
