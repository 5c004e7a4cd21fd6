// What forward keeps for backward, read off a differentiated graph; and forward alone as the cut of that graph.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace laptime {

// Every storage that exists before backward and is read in it, parameters aside: each once, in the order of its making.
std::vector<StorageId> saved_storages(const Graph& graph);
int64_t saved_bytes(const Graph& graph);

// Outputs of the cut are named kSavedOutput + number.
inline constexpr const char* kSavedOutput = "saved/";

// Drops backward and optimizer; what backward would have read stays to the end of the step.
Graph cut_forward(const Graph& graph);

}  // namespace laptime
