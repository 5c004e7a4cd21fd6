// Counts parameters and FLOPs in the forward graph of a model.
#include "model/parameters.h"

#include <algorithm>

#include "base/checked.h"
#include "graph/op.h"
#include "model/model_builder.h"
#include "model/model_card.h"

namespace laptime {
namespace {

bool reads_parameter(const Graph& graph, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId input) { return graph.value(input).role == Role::kParameter; });
}

}  // namespace

ModelSummary summarize(const ModelConfig& model) {
  ModelBuilder build(DType::kFloat32);
  const ModelOutputs outputs = card_of(model).build(build, model);
  ModelSummary summary;
  Size count;
  for (const DeclaredSource& parameter : build.parameters()) {
    summary.parameters.push_back(parameter.spec);
    count += build.shape(parameter.value).product();
  }
  for (const DeclaredSource& input : build.inputs()) summary.inputs.push_back(input.spec);
  summary.parameter_count = count.value();
  const Graph& graph = build.graph();
  for (const Value& value : graph.values) value.type.bytes();  // throws Error if the size of a tensor overflows
  for (const Node& node : graph.nodes) {
    const double products = product_flops_of(signature_of(graph, node));
    summary.forward_flops += products;
    if (!reads_parameter(graph, node)) summary.attention_flops += products;
  }
  if (outputs.logits.valid()) {
    constexpr double kMultiplyAdd = 2;
    const auto logits = static_cast<double>(build.shape(outputs.logits).product());
    summary.head_flops = kMultiplyAdd * logits * static_cast<double>(model.d_model);
  }
  return summary;
}

std::vector<ParameterSpec> parameter_list(const ModelConfig& model) { return summarize(model).parameters; }

}  // namespace laptime
