// Elision of copies and buffers: a node may write the next value of a state directly into the state, and a result may
// reuse the storage of an operand that is not read again.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace laptime {

struct Elision {
  std::vector<bool> dropped;       // node -> whether it is an assign that needs no copy
  std::vector<StorageId> storage;  // storage -> the storage whose bytes it uses; itself unless elided
};

// Drops assign(state, value) if a pointwise node produces `value` in the layout of the state, no node between that node
// and the assign reads the state, and nothing reads `value` after the state has changed again. An output reuses the
// storage of an input if OpCard::may_overwrite permits it, the step computes the input, both have the same type, no
// other operand shares the storage, no variable holds the input, and nothing reads the input later.
Elision elide_assignments(const Graph& graph);

}  // namespace laptime
