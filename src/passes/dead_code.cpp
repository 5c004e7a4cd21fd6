// Finds the needed nodes by walking from the end of the step to its start.
#include "passes/dead_code.h"

#include <vector>

#include "graph/builder.h"

namespace laptime {

Graph dead_code(const Graph& graph) {
  std::vector<bool> needed(graph.values.size(), false);
  std::vector<bool> keep(graph.nodes.size(), false);
  for (const GraphOutput& output : graph.outputs) needed[static_cast<size_t>(output.value.index)] = true;
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    keep[i] = node.op->has_updates();
    for (const ValueId output : node.outputs) keep[i] = keep[i] || needed[static_cast<size_t>(output.index)];
    if (!keep[i]) continue;
    for (const ValueId input : node.inputs) needed[static_cast<size_t>(input.index)] = true;
  }
  Replay replay(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (keep[i]) replay.copy(graph.nodes[i]);
  }
  return replay.finish();
}

}  // namespace laptime
