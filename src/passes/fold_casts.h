// fold_casts: an op itself casts its inputs and outputs, if its op card permits it.
#pragma once

#include "graph/graph.h"

namespace laptime {

// How to treat a cast that several ops read and could perform.
enum class SharedCasts : uint8_t {
  kFold,  // each reader casts: this is free for kernels that convert while they load, and no copy takes memory
  // A value is narrowed once, because library kernels would need a separate copy for each reader. If all readers of a
  // narrow result can widen it themselves, its op leaves it narrow; this halves the bytes that are moved.
  kKeep,
};

// Removes a cast of an op's output if every reader of that output casts it to the same type. If every reader of a cast
// can do the cast itself, lets the readers read the value before the cast; dead_code then removes the cast. Op cards
// determine which ops can fold a cast (fold_output_cast, fold_input_cast) and which op is a cast (is_cast).
Graph fold_casts(const Graph& graph, SharedCasts shared = SharedCasts::kFold);

}  // namespace laptime
