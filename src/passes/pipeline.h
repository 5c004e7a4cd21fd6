// The passes of a step in their order. The graph is verified after each one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "passes/decompose.h"
#include "passes/fold_casts.h"
#include "passes/recompute.h"

namespace laptime {

struct PipelineOptions {
  std::vector<std::string> keep;  // names of composites that are not lowered
  std::optional<DType> lower;     // autocast's lower type; none: no autocast
  bool forward_only = false;      // keep only forward and the values that it saves for backward
  // Fold casts and sums into ops, let no variable keep a value alive, and compute gradients of weights first.
  bool compile = false;
  SharedCasts shared_casts = SharedCasts::kFold;
  bool pad_rows = false;      // align the rows of results such as logits
  bool store_copies = false;  // keep copies of parameters in autocast's type from step to step
  RecomputeRule recompute = {};
  bool optimizer_in_backward = false;
  LowerKept lower_kept = LowerKept::kNone;
  int64_t bucket_bytes = 0;  // minimum bytes per communication between ranks; 0: there is one rank
};

// Called with "model" and the graph before the first pass, then after each pass with its name and the resulting graph.
using PassObserver = std::function<void(const std::string& pass, const Graph& graph)>;

// decompose -> [split rows] -> [autocast -> decompose] -> differentiate -> dead code -> [run deferred] -> [fold casts
// -> fold addends] -> [store copies] -> [recompute -> dead code] -> [pad rows] -> [optimizer in backward] -> [cut
// forward] -> [communicate]. Passes in brackets run only if the options ask for them; split rows and run deferred only
// for a kept composite that can be split. The second decompose lowers the composites that were left whole for autocast
// (OpCard::casts_by_input). The second dead code runs after folding or recompute.
Graph run_passes(const Graph& model, const PipelineOptions& options, const PassObserver& observer = {});

}  // namespace laptime
