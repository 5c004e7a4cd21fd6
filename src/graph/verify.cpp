// verify: the rules that every graph must obey, checked after every pass.
#include <vector>

#include "graph/op.h"

namespace laptime {
namespace {

void verify_types(const Graph& graph, const Node& node, const std::string& after) {
  std::vector<TensorType> in;
  for (const ValueId id : node.inputs) in.push_back(graph.value(id).type);
  if (node.op->kind == OpKind::kView) {
    const auto layout = node.op->view(node.attributes, in.at(0).layout);
    LAPTIME_CHECK(layout && *layout == graph.value(node.outputs[0]).type.layout, "after {}: {}", after, node.op->name);
    return;
  }
  const std::vector<TensorType> expected = node.op->infer(node.attributes, in);
  LAPTIME_CHECK(expected.size() == node.outputs.size(), "after {}: {} has {} outputs", after, node.op->name,
                node.outputs.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const TensorType& actual = graph.value(node.outputs[i]).type;
    LAPTIME_CHECK(expected[i] == actual, "after {}: {} gives {}, recorded {}", after, node.op->name, expected[i].text(),
                  actual.text());
  }
}

}  // namespace

void verify(const Graph& graph, const std::string& after) {
  std::vector<bool> made(graph.values.size(), false);
  // An update increments the generation of its storage. Reading a value of an earlier generation is an error, because
  // its bytes have been overwritten.
  std::vector<int> generation(graph.values.size(), 0);
  std::vector<int> current(graph.storage_roots.size(), 0);
  for (size_t i = 0; i < graph.values.size(); ++i) made[i] = !graph.values[i].producer.valid();
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.inputs) {
      const auto at = static_cast<size_t>(id.index);
      LAPTIME_CHECK(made[at], "after {}: {} reads %{} before it is defined", after, node.op->name, id.index);
      const auto storage = static_cast<size_t>(graph.value(id).storage.index);
      LAPTIME_CHECK(generation[at] == current[storage],
                    "after {}: {} reads the old value of '{}', which has been overwritten", after, node.op->name,
                    graph.value(id).annotations.name);
    }
    verify_types(graph, node, after);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      const auto at = static_cast<size_t>(id.index);
      const auto storage = static_cast<size_t>(graph.value(id).storage.index);
      if (node.op->updated_input(static_cast<int>(i)) >= 0) ++current[storage];
      made[at] = true;
      generation[at] = current[storage];
    }
  }
  for (const GraphOutput& output : graph.outputs) {
    const auto at = static_cast<size_t>(output.value.index);
    LAPTIME_CHECK(output.value.valid() && made[at], "after {}: output {}", after, output.name);
    const auto storage = static_cast<size_t>(graph.value(output.value).storage.index);
    LAPTIME_CHECK(generation[at] == current[storage], "after {}: output {} is an old value, which has been overwritten",
                  after, output.name);
  }
}

}  // namespace laptime
