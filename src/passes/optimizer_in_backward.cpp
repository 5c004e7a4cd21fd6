// Finds the earliest place for each optimizer node and replays the graph in that order.
#include "passes/optimizer_in_backward.h"

#include <algorithm>
#include <vector>

#include "graph/builder.h"

namespace laptime {
namespace {

bool in_optimizer(const Node& node) { return node.annotations.phase == Phase::kOptimizer; }

}  // namespace

Graph optimizer_in_backward(const Graph& graph) {
  // made_at: where each value is made, after the optimizer nodes have moved; last_read: the last node before the
  // optimizer that reads each storage.
  constexpr int kStart = -1;
  std::vector<int> made_at(graph.values.size(), kStart);
  std::vector<int> last_read(graph.storage_roots.size(), kStart);
  std::vector<std::vector<int>> after(graph.nodes.size() + 1);  // place + 1 -> the nodes that move there
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    int place = static_cast<int>(i);
    if (in_optimizer(node)) {
      place = kStart;
      for (const ValueId input : node.inputs) place = std::max(place, made_at[static_cast<size_t>(input.index)]);
      for (const Update& update : node.op->updates) {
        const ValueId state = node.inputs[static_cast<size_t>(update.input)];
        place = std::max(place, last_read[static_cast<size_t>(graph.value(state).storage.index)]);
      }
      const int behind = place + 1;
      after[static_cast<size_t>(behind)].push_back(static_cast<int>(i));
    } else {
      for (const ValueId input : node.inputs) last_read[static_cast<size_t>(graph.value(input).storage.index)] = place;
    }
    for (const ValueId output : node.outputs) made_at[static_cast<size_t>(output.index)] = place;
  }
  Replay replay(graph);
  const auto move_here = [&](size_t place) {
    for (const int node : after[place]) replay.copy(graph.nodes[static_cast<size_t>(node)]);
  };
  move_here(0);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!in_optimizer(graph.nodes[i])) replay.copy(graph.nodes[i]);
    move_here(i + 1);
  }
  return replay.finish();
}

}  // namespace laptime
