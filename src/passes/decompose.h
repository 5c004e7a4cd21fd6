// decompose: lowers composites to the primitives that a framework runs one by one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace laptime {

// Selects composites that are lowered although `keep` names them.
enum class LowerKept : uint8_t {
  kNone,
  kFasterLowered,       // composites whose op card says that they are faster when lowered, given their inputs
  kFasterLoweredOnGpu,  // likewise, with the kernels of a GPU
};

// Lowers every node whose op card has a decomposition and is not named in `keep`, and repeats this until nothing
// changes. A node whose decomposition returns nothing stays as it is (OpCard::decompose).
Graph decompose(const Graph& graph, const std::vector<std::string>& keep, LowerKept lower_kept = LowerKept::kNone);

}  // namespace laptime
