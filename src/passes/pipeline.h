// The passes of a step, in order, each verified after it has run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "passes/recompute.h"

namespace laptime {

struct PipelineOptions {
  std::vector<std::string> keep;  // composites that stay whole
  std::optional<DType> lower;     // autocast's lower type
  bool forward_only = false;      // stop where backward would begin
  bool compile = false;           // no variable of a program holds a value; casts fold into the ops beside them
  RecomputeRule recompute = {};
  bool optimizer_in_backward = false;
};

// Called after each pass with its name and what it made.
using PassObserver = std::function<void(const std::string& pass, const Graph& graph)>;

// decompose -> autocast -> differentiate -> dead code -> [fold casts -> fold addends -> recompute -> dead code ->
// optimizer in backward] -> cut; those in brackets where the options ask for them.
Graph run_passes(const Graph& model, const PipelineOptions& options, const PassObserver& observer = {});

}  // namespace laptime
