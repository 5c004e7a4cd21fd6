// Finds the parameters that are cast and updated as a whole, and replays the graph with their copies.
#include "passes/store_copies.h"

#include <map>

#include "graph/builder.h"
#include "graph/op.h"
#include "graph/structural_ops.h"

namespace laptime {
namespace {

class CopyStoring {
 public:
  explicit CopyStoring(const Graph& graph) : replay_(graph) {
    for (const Node& node : graph.nodes) {
      if (node.op->with_copy == nullptr) continue;
      const Value& parameter = graph.value(node.inputs[0]);
      if (parameter.role == Role::kParameter && !parameter.producer.valid()) copies_[node.inputs[0]] = {};
    }
  }

  Graph run() {
    for (const Node& node : replay_.from.nodes) {
      if (is_cast_of_copied(node)) cast_in_set_up(node);
    }
    for (const Node& node : replay_.from.nodes) {
      const ValueId copy = node.inputs.empty() ? ValueId{} : copy_of(node.inputs[0]);
      if (copy.valid() && is_cast_of_copied(node) && type_of_result(node) == replay_.to.type(copy)) {
        replay_.bind(node.outputs[0], copy);
      } else if (copy.valid() && node.op->with_copy != nullptr) {
        update_with_copy(node, copy);
      } else {
        replay_.copy(node);
      }
    }
    return replay_.finish();
  }

 private:
  const TensorType& type_of_result(const Node& node) const { return replay_.from.value(node.outputs[0]).type; }

  bool is_cast_of_copied(const Node& node) const {
    return node.op->is_cast && copies_.contains(node.inputs[0]) &&
           replay_.from.value(node.inputs[0]).type.layout == type_of_result(node).layout;
  }

  // The copy of a parameter in the new graph; invalid if it has none.
  ValueId copy_of(ValueId parameter) const {
    const auto found = copies_.find(parameter);
    return found == copies_.end() ? ValueId{} : found->second;
  }

  void cast_in_set_up(const Node& node) {
    ValueId& copy = copies_[node.inputs[0]];
    if (copy.valid()) return;
    replay_.to.current = node.annotations;
    replay_.to.current.phase = Phase::kSetup;
    copy = cast(replay_.to, replay_[node.inputs[0]], type_of_result(node).dtype);
    replay_.to.mark_role(copy, Role::kAutocastCopy);
  }

  void update_with_copy(const Node& node, ValueId copy) {
    replay_.to.current = node.annotations;
    std::vector<ValueId> inputs = replay_.mapped(node.inputs);
    inputs.insert(inputs.begin(), copy);
    const std::vector<ValueId> outputs = replay_.to.emit(*node.op->with_copy, node.attributes, inputs);
    for (size_t i = 0; i < node.outputs.size(); ++i) replay_.bind(node.outputs[i], outputs[i + 1]);
  }

  Replay replay_;
  std::map<ValueId, ValueId> copies_;  // parameter -> its copy in the new graph, once that exists
};

}  // namespace

Graph store_copies(const Graph& graph) { return CopyStoring(graph).run(); }

}  // namespace laptime
