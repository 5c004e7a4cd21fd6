// The passes of a step, in order, each verified after it has run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace laptime {

struct PipelineOptions {
  std::vector<std::string> keep;  // composites that stay whole
  std::optional<DType> lower;     // autocast's lower type
  bool forward_only = false;      // stop where backward would begin
};

// Called after each pass with its name and what it made.
using PassObserver = std::function<void(const std::string& pass, const Graph& graph)>;

// decompose -> autocast -> differentiate -> dead code -> cut
Graph run_passes(const Graph& model, const PipelineOptions& options, const PassObserver& observer = {});

}  // namespace laptime
