// Finds the values that forward saves for backward, and cuts a step after forward.
#include "passes/saved.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/builder.h"

namespace laptime {
namespace {

bool before_backward(const Graph& graph, const Value& value) {
  if (!value.producer.valid()) return true;
  const Phase phase = graph.node(value.producer).annotations.phase;
  return phase == Phase::kSetup || phase == Phase::kForward;
}

}  // namespace

std::vector<StorageId> saved_storages(const Graph& graph) {
  std::vector<bool> saved(graph.storage_roots.size(), false);
  for (const Node& node : graph.nodes) {
    if (node.annotations.phase != Phase::kBackward || node.op->kind == OpKind::kView) continue;
    for (const ValueId input : node.inputs) {
      const StorageId storage = graph.value(input).storage;
      const Value& root = graph.root(storage);
      const bool is_stored_copy = root.role == Role::kAutocastCopy && !graph.is_of_step(storage);
      const bool persistent = root.role == Role::kParameter || root.role == Role::kGradient || is_stored_copy ||
                              root.role == Role::kOptimizerState;  // for example, the loss scale
      if (!persistent && before_backward(graph, root)) saved[static_cast<size_t>(storage.index)] = true;
    }
  }
  std::vector<StorageId> storages;
  for (size_t i = 0; i < saved.size(); ++i) {
    if (saved[i]) storages.push_back({static_cast<int32_t>(i)});
  }
  return storages;
}

int64_t saved_bytes(const Graph& graph) {
  const auto backward = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                     [](const Node& node) { return node.annotations.phase == Phase::kBackward; });
  const auto first_of_backward = static_cast<int32_t>(backward - graph.nodes.begin());
  Size bytes = 0;
  for (const StorageId storage : saved_storages(graph)) {
    const NodeId producer = graph.root(storage).producer;
    if (!producer.valid() || producer.index < first_of_backward) bytes += graph.storage_bytes(storage);
  }
  return bytes.value();
}

Graph cut_forward(const Graph& graph) {
  Replay replay(graph);
  for (const Node& node : graph.nodes) {
    const Phase phase = node.annotations.phase;
    if (phase == Phase::kSetup || phase == Phase::kForward) replay.copy(node);
  }
  for (const GraphOutput& output : graph.outputs) {
    if (before_backward(graph, graph.value(output.value))) replay.to.output(output.name, replay[output.value]);
  }
  int number = 0;
  for (const StorageId storage : saved_storages(graph)) {
    const ValueId root = graph.storage_roots[static_cast<size_t>(storage.index)];
    replay.to.output(fmt::format("{}{}", kSavedOutput, number++), replay[root]);
  }
  return replay.to.finish();
}

}  // namespace laptime
