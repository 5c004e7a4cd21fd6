// Finds the sums to fold, then replays the graph with the sums inside the ops.
#include "passes/fold_addends.h"

#include <map>
#include <set>
#include <vector>

#include "graph/builder.h"
#include "graph/structural_ops.h"

namespace laptime {
namespace {

class AddendFolding {
 public:
  explicit AddendFolding(const Graph& graph) : replay_(graph), readers_(graph.values.size(), 0) {
    for (const Node& node : graph.nodes) {
      for (const ValueId input : node.inputs) ++readers_[index(input)];
    }
    for (const GraphOutput& output : graph.outputs) ++readers_[index(output.value)];
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      if (graph.nodes[i].op->is_sum) try_to_fold(static_cast<int>(i));
    }
  }

  Graph run() {
    for (size_t i = 0; i < from().nodes.size(); ++i) {
      const Node& node = from().nodes[i];
      if (const auto sum = sums_.find(static_cast<int>(i)); sum != sums_.end()) {
        const ValueId total = replay_[from().node(sum->second).outputs[0]];
        replay_.to.current = node.annotations;
        replay_.bind(node.outputs[0], reshape(replay_.to, total, from().value(node.outputs[0]).type.shape()));
      } else if (const auto addend = addends_.find(static_cast<int>(i)); addend != addends_.end()) {
        emit_with(node, addend->second);
      } else if (!views_.contains(static_cast<int>(i))) {
        replay_.copy(node);
      }
    }
    return replay_.finish();
  }

 private:
  const Graph& from() const { return replay_.from; }
  static size_t index(ValueId value) { return static_cast<size_t>(value.index); }

  // The op that produces `value`, if it can add the other operand of the sum, and nothing else reads `value` or a view
  // between the op and the sum; otherwise none. `views` receives the views between the op and `value`.
  NodeId candidate(ValueId value, std::vector<int>& views) const {
    const TensorType& operand = from().value(value).type;
    if (!operand.layout.is_contiguous()) return {};
    for (ValueId at = value;;) {
      const NodeId producer = from().value(at).producer;
      if (!producer.valid() || readers_[index(at)] != 1) return {};
      const Node& node = from().node(producer);
      if (node.op->kind != OpKind::kView) {
        const TensorType& result = from().value(at).type;
        const bool whole = at == node.outputs[0] && result.layout.is_contiguous() && result.numel() == operand.numel();
        return whole && node.op->fold_addend != nullptr && node.op->fold_addend(node.attributes) ? producer : NodeId{};
      }
      views.push_back(producer.index);
      at = node.inputs[0];
    }
  }

  void try_to_fold(int sum) {
    const Node& node = from().nodes[static_cast<size_t>(sum)];
    const TensorType& result = from().value(node.outputs[0]).type;
    for (size_t operand = 0; operand < 2; ++operand) {
      const ValueId other = node.inputs[1 - operand];
      const TensorType& other_type = from().value(other).type;
      if (other_type.shape() != result.shape() || !other_type.layout.is_contiguous()) continue;
      if (from().value(node.inputs[operand]).type.shape() != result.shape() || other_type.dtype != result.dtype)
        continue;
      std::vector<int> views;
      const NodeId op = candidate(node.inputs[operand], views);
      if (!op.valid() || from().value(other).producer.index >= op.index) continue;
      if (from().node(op).annotations.phase != node.annotations.phase) continue;
      if (addends_.contains(op.index)) continue;
      addends_[op.index] = other;
      sums_[sum] = op;
      views_.insert(views.begin(), views.end());
      return;
    }
  }

  void emit_with(const Node& node, ValueId addend) {
    replay_.to.current = node.annotations;
    std::vector<ValueId> inputs = replay_.mapped(node.inputs);
    inputs.push_back(reshape(replay_.to, replay_[addend], from().value(node.outputs[0]).type.shape()));
    replay_.copy(node, *node.op->fold_addend(node.attributes), inputs);
  }

  Replay replay_;
  std::vector<int> readers_;        // value -> number of nodes and graph outputs that read it
  std::map<int, ValueId> addends_;  // op -> the value that it adds
  std::map<int, NodeId> sums_;      // sum -> the op that performs the sum
  std::set<int> views_;             // views between an op and the sum folded into it
};

}  // namespace

Graph fold_addends(const Graph& graph) { return AddendFolding(graph).run(); }

}  // namespace laptime
