// Counts parameters and FLOPs in the forward graph of a model.
#include "model/parameters.h"

#include <algorithm>

#include "base/checked.h"
#include "graph/op.h"
#include "model/model_builder.h"
#include "model/model_card.h"

namespace laptime {
namespace {

int64_t whole_number(double flops) {
  constexpr double kLimit = 0x1p63;
  if (flops >= kLimit) {
    throw Error::format("size too large: {:.3g} FLOPs do not fit in 63 bits; use a smaller model, batch or context",
                        flops);
  }
  return static_cast<int64_t>(flops);
}

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
  double flops = 0;
  double attention_flops = 0;
  const Graph& graph = build.graph();
  for (const Value& value : graph.values) value.type.bytes();  // throws Error if the size of a tensor overflows
  for (const Node& node : graph.nodes) {
    const double products = product_flops_of(signature_of(graph, node));
    flops += products;
    if (!reads_parameter(graph, node)) attention_flops += products;
  }
  summary.forward_flops = whole_number(flops);
  summary.attention_flops = whole_number(attention_flops);
  if (outputs.logits.valid()) {
    constexpr int64_t kMultiplyAdd = 2;
    summary.head_flops = (Size(build.shape(outputs.logits).product()) * model.d_model * kMultiplyAdd).value();
  }
  return summary;
}

std::vector<ParameterSpec> parameter_list(const ModelConfig& model) { return summarize(model).parameters; }

}  // namespace laptime
