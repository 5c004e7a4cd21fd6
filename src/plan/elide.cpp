// Which assignments need no copy.
#include "plan/elide.h"

#include <algorithm>

#include "graph/op.h"

namespace laptime {
namespace {

bool reads(const Graph& graph, const Node& node, StorageId storage) {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return graph.value(input).storage == storage; });
}

// A node whose outputs are all new and which reads its operands place by place.
bool overwrites_safely(const Graph& graph, const Node& maker, const Value& state, const Value& value) {
  if (maker.op->kind != OpKind::kPointwise || !maker.op->updates.empty() || maker.outputs.size() != 1) return false;
  if (value.type != state.type) return false;
  // An operand in the state's bytes must stand place by place under the result: same layout, no broadcast.
  return std::all_of(maker.inputs.begin(), maker.inputs.end(), [&](ValueId input) {
    return graph.value(input).storage != state.storage || graph.value(input).type == state.type;
  });
}

}  // namespace

Elision elide_assignments(const Graph& graph) {
  Elision elision;
  elision.dropped.resize(graph.nodes.size(), false);
  for (size_t i = 0; i < graph.storage_roots.size(); ++i) elision.storage.push_back({static_cast<int32_t>(i)});
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const bool assigns = node.op->kind == OpKind::kCopy && !node.op->updates.empty() && node.inputs.size() == 2;
    if (!assigns) continue;
    const Value& state = graph.value(node.inputs[0]);
    const Value& value = graph.value(node.inputs[1]);
    if (!value.producer.valid() || graph.storage_roots[static_cast<size_t>(value.storage.index)] != node.inputs[1])
      continue;
    const auto made_at = static_cast<size_t>(value.producer.index);
    if (!overwrites_safely(graph, graph.nodes[made_at], state, value)) continue;
    bool free_between = true;
    for (size_t k = made_at + 1; k < i; ++k)
      free_between = free_between && !reads(graph, graph.nodes[k], state.storage);
    if (!free_between) continue;
    elision.dropped[i] = true;
    elision.storage[static_cast<size_t>(value.storage.index)] = state.storage;
  }
  return elision;
}

}  // namespace laptime
