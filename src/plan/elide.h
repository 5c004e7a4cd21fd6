// Elision of copies and buffers: a state's next value made directly in the state's bytes, and a result made where an
// operand stands that dies there.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace laptime {

struct Elision {
  std::vector<bool> dropped;       // node -> an assign that needs no copy
  std::vector<StorageId> storage;  // storage -> the storage whose bytes it uses; itself unless elided
};

// assign(state, value) is dropped when `value` is made by a pointwise node in the state's layout, between that node and
// the assignment nobody reads the state (each element is then read before it is overwritten), and nobody reads `value`
// once the state has changed again. An output for which the card has a permission (may_overwrite) takes the bytes of
// its input where the types agree, no other operand stands in them and nobody reads them later.
Elision elide_assignments(const Graph& graph);

}  // namespace laptime
