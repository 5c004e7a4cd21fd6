// recompute: recomputes forward values in backward instead of keeping them in memory.
#pragma once

#include <cstdint>

#include "graph/graph.h"

namespace laptime {

struct RecomputeRule {
  // Recompute cheap nodes: no contraction, little traffic per byte saved, and only inputs that are kept anyway or are
  // results of cheap nodes (chains of two nodes at most).
  bool local = false;
  // Recompute whole regions of `group` consecutive layers among the first `layers` layers, keeping only values that
  // cross the border of a region. 0: no regions.
  int64_t group = 0;
  int64_t layers = 0;
  // True if `local` includes the copies of parameters in autocast's type. Kernels that convert while they load need no
  // copies; for other kernels, recomputing a copy reads and writes the whole parameter.
  bool parameter_copies = true;
};

// Clones forward nodes into backward, each before its first reader and marked `recomputed`. Originals without readers
// are left for dead_code to remove.
Graph recompute(const Graph& graph, const RecomputeRule& rule);

}  // namespace laptime
