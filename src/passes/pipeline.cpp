// The order of the passes.
#include "passes/pipeline.h"

#include "passes/autocast.h"
#include "passes/dead_code.h"
#include "passes/decompose.h"
#include "passes/differentiate.h"
#include "passes/saved.h"

namespace laptime {

Graph run_passes(Graph graph, const PipelineOptions& options, const PassObserver& observer) {
  const auto apply = [&](const char* name, Graph next) {
    graph = std::move(next);
    verify(graph, name);
    if (observer) observer(name, graph);
  };
  apply("model", std::move(graph));
  apply("decompose", decompose(graph, options.keep));
  if (options.lower) apply("autocast", autocast(graph, *options.lower));
  apply("differentiate", differentiate(graph));
  apply("dead_code", dead_code(graph));
  if (options.forward_only) apply("cut_forward", cut_forward(graph));
  return graph;
}

}  // namespace laptime
