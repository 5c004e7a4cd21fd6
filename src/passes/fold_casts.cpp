// Casts of outputs, then casts of inputs.
#include "passes/fold_casts.h"

#include <vector>

#include "graph/builder.h"
#include "graph/structural_ops.h"

namespace laptime {
namespace {

bool is_view(const Node& node) { return node.op->kind == OpKind::kView; }

// Readers of each value, in order.
std::vector<std::vector<NodeId>> readers_of(const Graph& graph) {
  std::vector<std::vector<NodeId>> readers(graph.values.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId input : graph.nodes[i].inputs)
      readers[static_cast<size_t>(input.index)].push_back({static_cast<int32_t>(i)});
  }
  return readers;
}

class Folding {
 public:
  explicit Folding(const Graph& graph) : replay_(graph), readers_(readers_of(graph)), gone_(graph.nodes.size(), false) {
    for (const GraphOutput& output : graph.outputs) readers_[index(output.value)].push_back({});  // read from outside
  }

  Graph run() {
    for (size_t i = 0; i < from().nodes.size(); ++i) {
      const Node& node = from().nodes[i];
      if (gone_[i]) {  // its producer rounds already: the same value, seen through no cast
        replay_.bind(node.outputs[0], replay_[node.inputs[0]]);
        continue;
      }
      if (node.op->fold_output_cast == nullptr || node.op->kind == OpKind::kContraction) {
        replay_.copy(node);
        continue;
      }
      Attributes attributes = node.attributes;
      for (size_t k = 0; k < node.outputs.size(); ++k) {
        const std::optional<DType> to = cast_by_all(node.outputs[k]);
        if (!to) continue;
        const auto folded = node.op->fold_output_cast(attributes, static_cast<int>(k), *to);
        if (!folded) continue;
        attributes = *folded;
        drop_casts(node.outputs[k]);
      }
      replay_.to.current = node.annotations;
      const std::vector<ValueId> outputs = replay_.to.emit(*node.op, attributes, replay_.mapped(node.inputs));
      for (size_t k = 0; k < outputs.size(); ++k) replay_.bind(node.outputs[k], outputs[k]);
    }
    return replay_.finish();
  }

 private:
  const Graph& from() const { return replay_.from; }
  static size_t index(ValueId value) { return static_cast<size_t>(value.index); }

  // The type to which every reader, seen through views, casts the value.
  std::optional<DType> cast_by_all(ValueId value) const {
    std::optional<DType> type;
    for (const NodeId reader : readers_[index(value)]) {
      if (!reader.valid()) return std::nullopt;
      const Node& node = from().node(reader);
      std::optional<DType> to;
      if (is_view(node)) {
        to = cast_by_all(node.outputs[0]);
      } else if (node.op == &kCast && from().value(node.outputs[0]).type.layout == from().value(value).type.layout) {
        to = from().value(node.outputs[0]).type.dtype;
      }
      if (!to || (type && *type != *to)) return std::nullopt;
      type = to;
    }
    return type;
  }

  void drop_casts(ValueId value) {
    for (const NodeId reader : readers_[index(value)]) {
      const Node& node = from().node(reader);
      is_view(node) ? drop_casts(node.outputs[0]) : gone(reader);
    }
  }
  void gone(NodeId node) { gone_[static_cast<size_t>(node.index)] = true; }

  Replay replay_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> gone_;
};

// Casts of inputs: only where the op is the cast's one reader, so that nothing is cast twice.
class InputFolding {
 public:
  explicit InputFolding(const Graph& graph) : replay_(graph), readers_(readers_of(graph)) {
    for (const GraphOutput& output : graph.outputs) readers_[index(output.value)].push_back({});
  }

  Graph run() {
    for (const Node& node : from().nodes) {
      if (node.op->fold_input_cast == nullptr || node.op->kind == OpKind::kContraction) {
        replay_.copy(node);
        continue;
      }
      Attributes attributes = node.attributes;
      std::vector<ValueId> inputs = replay_.mapped(node.inputs);
      for (size_t i = 0; i < inputs.size(); ++i) {
        const ValueId cast = node.inputs[i];
        const Node* const maker = from().producer(cast);
        if (maker == nullptr || maker->op != &kCast || readers_[index(cast)].size() != 1) continue;
        if (from().value(maker->inputs[0]).type.layout != from().value(cast).type.layout) continue;
        const auto folded = node.op->fold_input_cast(attributes, static_cast<int>(i), from().value(cast).type.dtype);
        if (!folded) continue;
        attributes = *folded;
        inputs[i] = replay_[maker->inputs[0]];
      }
      replay_.to.current = node.annotations;
      const std::vector<ValueId> outputs = replay_.to.emit(*node.op, attributes, inputs);
      for (size_t k = 0; k < outputs.size(); ++k) replay_.bind(node.outputs[k], outputs[k]);
    }
    return replay_.finish();
  }

 private:
  const Graph& from() const { return replay_.from; }
  static size_t index(ValueId value) { return static_cast<size_t>(value.index); }

  Replay replay_;
  std::vector<std::vector<NodeId>> readers_;
};

}  // namespace

Graph fold_casts(const Graph& graph) { return InputFolding(Folding(graph).run()).run(); }

}  // namespace laptime
