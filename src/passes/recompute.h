// recompute: what backward reads of forward is made again in backward where that is cheaper than keeping it.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace laptime {

struct RecomputeRule {
  // Cheap nodes: no contraction, inputs that are kept anyway, and bytes saved that are worth the bytes moved.
  bool local = false;
  // Whole regions of `group` layers each, up to layer `layers` (0: no layer is in one): only what crosses their
  // borders is kept. 0: none.
  int64_t group = 0;
  int64_t layers = 0;
};

// Clones forward nodes into backward, each before its first reader, marked `recomputed`; dead code then takes what
// forward no longer needs.
Graph recompute(const Graph& graph, const RecomputeRule& rule);

}  // namespace laptime
