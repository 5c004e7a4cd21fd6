// Prints a graph as text.
#include <fmt/format.h>

#include "base/words.h"
#include "graph/op.h"

namespace laptime {
namespace {

std::string value_text(const Graph& graph, ValueId id) {
  const Value& value = graph.value(id);
  std::string text = fmt::format("%{} {}", id.index, value.type.text());
  if (!value.annotations.name.empty()) text += fmt::format(" '{}'", value.annotations.name);
  return text;
}

}  // namespace

std::string print(const Graph& graph) {
  std::string text;
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const Value& value = graph.values[i];
    if (value.producer.valid()) continue;
    text += fmt::format("{} {}\n", name_of(value.role), value_text(graph, {static_cast<int32_t>(i)}));
  }
  for (const Node& node : graph.nodes) {
    std::vector<std::string> outputs;
    std::vector<std::string> inputs;
    for (const ValueId id : node.outputs) outputs.push_back(value_text(graph, id));
    for (const ValueId id : node.inputs) inputs.push_back(fmt::format("%{}", id.index));
    text += fmt::format("{} = {}({})", joined(outputs, ", "), node.op->name, joined(inputs, ", "));
    if (const std::string attributes = node.attributes.text(); !attributes.empty())
      text += fmt::format(" {{{}}}", attributes);
    text += fmt::format("  # {}", name_of(node.annotations.phase));
    if (!node.annotations.scope.empty()) text += fmt::format(" {}", node.annotations.scope);
    text += '\n';
  }
  for (const GraphOutput& output : graph.outputs)
    text += fmt::format("output {} = %{}\n", output.name, output.value.index);
  return text;
}

}  // namespace laptime
