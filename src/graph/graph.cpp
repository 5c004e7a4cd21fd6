// Look-ups in a graph, and the names of phases, roles and classes of work.
#include "graph/graph.h"

#include <fmt/format.h>

#include "graph/op.h"

namespace laptime {

const char* name_of(Phase phase) {
  switch (phase) {
    case Phase::kSetup: return "setup";
    case Phase::kForward: return "forward";
    case Phase::kBackward: return "backward";
    case Phase::kOptimizer: return "optimizer";
  }
  return "?";
}

const char* name_of(WorkClass work) {
  switch (work) {
    case WorkClass::kMatmul: return "matmul";
    case WorkClass::kAttention: return "attention";
    case WorkClass::kSoftmax: return "softmax";
    case WorkClass::kElementwise: return "elementwise";
    case WorkClass::kReduction: return "reduction";
    case WorkClass::kCast: return "cast";
    case WorkClass::kCopy: return "copy";
    case WorkClass::kLoss: return "loss";
    case WorkClass::kOptimizer: return "optimizer";
    case WorkClass::kCommunication: return "communication";
  }
  return "?";
}

const char* name_of(Role role) {
  switch (role) {
    case Role::kActivation: return "activation";
    case Role::kParameter: return "parameter";
    case Role::kGradient: return "gradient";
    case Role::kOptimizerState: return "optimizer_state";
    case Role::kAutocastCopy: return "autocast_copy";
    case Role::kConstant: return "constant";
    case Role::kWorkspace: return "workspace";
    case Role::kInput: return "input";
  }
  return "?";
}

std::string layer_scope(int64_t layer) { return fmt::format("layers.{}", layer); }

const Node* Graph::producer(ValueId id) const {
  const NodeId node_id = value(id).producer;
  return node_id.valid() ? &node(node_id) : nullptr;
}

bool Graph::is_of_step(StorageId id) const {
  const Node* const maker = producer(storage_roots[static_cast<size_t>(id.index)]);
  return maker != nullptr && maker->annotations.phase != Phase::kSetup;
}

ValueId Graph::find_source(const std::string& name) const {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].producer.valid() && values[i].annotations.name == name) return {static_cast<int32_t>(i)};
  }
  return {};
}

ValueId Graph::find_output(const std::string& name) const {
  for (const GraphOutput& output : outputs) {
    if (output.name == name) return output.value;
  }
  return {};
}

}  // namespace laptime
