// Runs a graph node by node with the reference implementations.
#include "support/evaluate.h"

#include "graph/op.h"
#include "tensor/elements.h"

namespace laptime::test {

Evaluation::Evaluation(const Graph& graph) : graph_(graph) {
  for (size_t i = 0; i < graph.storage_roots.size(); ++i) {
    const StorageId storage{static_cast<int32_t>(i)};
    storages_.emplace(storage, GuardedTensor(graph.root(storage).type));
  }
}

TensorView Evaluation::view(ValueId id) {
  const Value& value = graph_.value(id);
  return {storages_.at(value.storage).view().data, value.type};
}

void Evaluation::set(ValueId source, const std::vector<double>& values) {
  const TensorView to = view(source);
  LAPTIME_CHECK(to.numel() == static_cast<int64_t>(values.size()), "{} values for {}", values.size(), to.type.text());
  for (int64_t i = 0; i < to.numel(); ++i) to.put(i, values[static_cast<size_t>(i)]);
}

void Evaluation::run() {
  for (const Node& node : graph_.nodes) {
    if (node.op->kind == OpKind::kView) continue;
    LAPTIME_CHECK(node.op->reference != nullptr, "{} has no reference", node.op->name);
    std::vector<TensorView> in;
    std::vector<TensorView> out;
    for (const ValueId id : node.inputs) in.push_back(view(id));
    for (const ValueId id : node.outputs) out.push_back(view(id));
    node.op->reference({node.attributes, in, out});
  }
}

std::vector<double> Evaluation::values(ValueId id) { return elements_of(view(id)); }

}  // namespace laptime::test
