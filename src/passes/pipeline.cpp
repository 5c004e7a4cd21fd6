// The order of the passes.
#include "passes/pipeline.h"

#include "passes/autocast.h"
#include "passes/dead_code.h"
#include "passes/decompose.h"
#include "passes/differentiate.h"
#include "passes/saved.h"

namespace laptime {

Graph run_passes(const Graph& model, const PipelineOptions& options, const PassObserver& observer) {
  const auto checked = [&](const char* name, Graph graph) {
    verify(graph, name);
    if (observer) observer(name, graph);
    return graph;
  };
  Graph graph = checked("model", model);
  graph = checked("decompose", decompose(graph, options.keep));
  if (options.lower) graph = checked("autocast", autocast(graph, *options.lower));
  graph = checked("differentiate", differentiate(graph));
  graph = checked("dead_code", dead_code(graph));
  if (options.forward_only) graph = checked("cut_forward", cut_forward(graph));
  return graph;
}

}  // namespace laptime
