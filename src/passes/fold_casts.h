// fold_casts: an op performs the casts of its inputs and outputs itself, where its card says that it can.
#pragma once

#include "graph/graph.h"

namespace laptime {

// What happens to a cast that several ops read and could perform.
enum class SharedCasts : uint8_t {
  kFold,  // each reader casts: kernels that convert while they load pay nothing for it, and no copy takes memory
  kKeep,  // the value is cast once: a library that takes its factors as they are would have it cast for each of them
};

// Removes a cast of an op's output if every reader of that output casts it to the same type. Takes away the readers of
// a cast of an op's input if every one of them can fold it; dead_code then drops the cast. The cards decide which ops
// can (fold_output_cast, fold_input_cast) and which op is a cast (is_cast).
Graph fold_casts(const Graph& graph, SharedCasts shared = SharedCasts::kFold);

}  // namespace laptime
