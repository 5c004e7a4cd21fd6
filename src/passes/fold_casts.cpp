// Casts of outputs, then casts of inputs.
#include "passes/fold_casts.h"

#include <algorithm>
#include <vector>

#include "graph/builder.h"
#include "graph/structural_ops.h"

namespace laptime {
namespace {

bool is_view(const Node& node) { return node.op->kind == OpKind::kView; }

// Readers of each value, in order; an invalid one stands for a reader outside of the step.
std::vector<std::vector<NodeId>> readers_of(const Graph& graph) {
  std::vector<std::vector<NodeId>> readers(graph.values.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId input : graph.nodes[i].inputs)
      readers[static_cast<size_t>(input.index)].push_back({static_cast<int32_t>(i)});
  }
  for (const GraphOutput& output : graph.outputs) readers[static_cast<size_t>(output.value.index)].push_back({});
  return readers;
}

class Folding {
 public:
  explicit Folding(const Graph& graph)
      : replay_(graph), readers_(readers_of(graph)), gone_(graph.nodes.size(), false) {}

  Graph run() {
    for (size_t i = 0; i < from().nodes.size(); ++i) {
      const Node& node = from().nodes[i];
      if (gone_[i]) {  // its producer rounds already: the same value, seen through no cast
        replay_.bind(node.outputs[0], replay_[node.inputs[0]]);
        continue;
      }
      if (node.op->fold_output_cast == nullptr) {
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

// Casts of inputs: only where every reader of the cast folds it, so that nothing is cast twice.
class InputFolding {
 public:
  explicit InputFolding(const Graph& graph) : replay_(graph), folds_(graph.nodes.size(), false) {
    const std::vector<std::vector<NodeId>> readers = readers_of(graph);
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      if (node.op != &kCast) continue;
      const std::vector<NodeId>& of_cast = readers[static_cast<size_t>(node.outputs[0].index)];
      folds_[i] = graph.value(node.inputs[0]).type.layout == graph.value(node.outputs[0]).type.layout &&
                  std::all_of(of_cast.begin(), of_cast.end(), [&](NodeId reader) {
                    return reader.valid() && folds_into(graph.node(reader), node.outputs[0]);
                  });
    }
  }

  Graph run() {
    for (const Node& node : from().nodes) {
      Attributes attributes = node.attributes;
      std::vector<ValueId> inputs = replay_.mapped(node.inputs);
      for (size_t i = 0; i < inputs.size(); ++i) {
        const NodeId maker = from().value(node.inputs[i]).producer;
        if (!maker.valid() || !folds_[static_cast<size_t>(maker.index)]) continue;
        const auto folded = folded_input(node, attributes, i);
        LAPTIME_CHECK(folded.has_value(), "{} folds input {} alone only", node.op->name, i);
        attributes = *folded;
        inputs[i] = replay_[from().node(maker).inputs[0]];
      }
      replay_.to.current = node.annotations;
      const std::vector<ValueId> outputs = replay_.to.emit(*node.op, attributes, inputs);
      for (size_t k = 0; k < outputs.size(); ++k) replay_.bind(node.outputs[k], outputs[k]);
    }
    return replay_.finish();
  }

 private:
  const Graph& from() const { return replay_.from; }

  std::optional<Attributes> folded_input(const Node& node, const Attributes& attributes, size_t input) const {
    if (node.op->fold_input_cast == nullptr) return std::nullopt;
    const DType to = from().value(node.inputs[input]).type.dtype;
    return node.op->fold_input_cast(attributes, static_cast<int>(input), to);
  }

  bool folds_into(const Node& node, ValueId value) const {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == value && !folded_input(node, node.attributes, i)) return false;
    }
    return true;
  }

  Replay replay_;
  std::vector<bool> folds_;  // node -> a cast that goes into its readers
};

}  // namespace

Graph fold_casts(const Graph& graph) { return InputFolding(Folding(graph).run()).run(); }

}  // namespace laptime
