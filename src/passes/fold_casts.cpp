// Folds casts of an op's outputs first, then casts of an op's inputs.
#include "passes/fold_casts.h"

#include <algorithm>
#include <vector>

#include "graph/builder.h"

namespace laptime {
namespace {

// The nodes that read each value, in execution order. An invalid id represents a reader outside the step.
std::vector<std::vector<NodeId>> readers_of(const Graph& graph) {
  std::vector<std::vector<NodeId>> readers(graph.values.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId input : graph.nodes[i].inputs)
      readers[static_cast<size_t>(input.index)].push_back({static_cast<int32_t>(i)});
  }
  for (const GraphOutput& output : graph.outputs) readers[static_cast<size_t>(output.value.index)].push_back({});
  return readers;
}

// A cast that also changes the layout moves elements; no op can fold that.
bool is_foldable_cast(const Graph& graph, const Node& node) {
  return node.op->is_cast && graph.value(node.inputs[0]).type.layout == graph.value(node.outputs[0]).type.layout;
}

bool widens(const Graph& graph, const Node& cast) {
  return size_of(graph.value(cast.outputs[0]).type.dtype) > size_of(graph.value(cast.inputs[0]).type.dtype);
}

// The attributes of the node if it casts input `input` itself; nothing if it cannot.
std::optional<Attributes> attributes_with_input_cast(const Graph& graph, const Node& node, const Attributes& attributes,
                                                     size_t input) {
  if (node.op->fold_input_cast == nullptr) return std::nullopt;
  const DType to = graph.value(node.inputs[input]).type.dtype;
  return node.op->fold_input_cast(attributes, static_cast<int>(input), to);
}

// True if every one of `readers`, which read the result of a cast, can do the cast itself.
bool can_fold(const Graph& graph, const std::vector<NodeId>& readers, ValueId result) {
  return std::ranges::all_of(readers, [&](NodeId reader) {
    if (!reader.valid()) return false;
    const Node& node = graph.node(reader);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == result && !attributes_with_input_cast(graph, node, node.attributes, i)) return false;
    }
    return true;
  });
}

class OutputCastFolding {
 public:
  OutputCastFolding(const Graph& graph, SharedCasts shared)
      : replay_(graph), shared_(shared), readers_(readers_of(graph)), folded_(graph.nodes.size(), false) {}

  Graph run() {
    for (size_t i = 0; i < from().nodes.size(); ++i) {
      const Node& node = from().nodes[i];
      if (folded_[i]) {  // the op before the cast already converts the value
        replay_.bind(node.outputs[0], replay_[node.inputs[0]]);
        continue;
      }
      if (node.op->fold_output_cast == nullptr) {
        replay_.copy(node);
        continue;
      }
      Attributes attributes = node.attributes;
      for (size_t k = 0; k < node.outputs.size(); ++k) {
        const std::optional<DType> to = type_cast_to_by_all_readers(node.outputs[k]);
        if (!to || (shared_ == SharedCasts::kKeep && readers_widen(node.outputs[k]))) continue;
        const auto with_cast = node.op->fold_output_cast(attributes, static_cast<int>(k), *to);
        if (!with_cast) continue;
        attributes = *with_cast;
        mark_casts_folded(node.outputs[k]);
      }
      replay_.copy(node, attributes, replay_.mapped(node.inputs));
    }
    return replay_.finish();
  }

 private:
  const Graph& from() const { return replay_.from; }
  static size_t index(ValueId value) { return static_cast<size_t>(value.index); }
  static bool is_view(const Node& node) { return node.op->kind == OpKind::kView; }

  // The single type to which every reader casts the value, directly or after views; nothing if there is no such type.
  std::optional<DType> type_cast_to_by_all_readers(ValueId value) const {
    std::optional<DType> type;
    for (const NodeId reader : readers_[index(value)]) {
      if (!reader.valid()) return std::nullopt;
      const Node& node = from().node(reader);
      std::optional<DType> to;
      if (is_view(node)) {
        to = type_cast_to_by_all_readers(node.outputs[0]);
      } else if (is_foldable_cast(from(), node)) {
        to = from().value(node.outputs[0]).type.dtype;
      }
      if (!to || (type && *type != *to)) return std::nullopt;
      type = to;
    }
    return type;
  }

  // True if the casts of the value widen it, and all readers of their results could cast by themselves.
  bool readers_widen(ValueId value) const {
    return std::ranges::all_of(readers_[index(value)], [&](NodeId reader) {
      const Node& node = from().node(reader);
      return !is_view(node) && widens(from(), node) &&
             can_fold(from(), readers_[index(node.outputs[0])], node.outputs[0]);
    });
  }

  void mark_casts_folded(ValueId value) {
    for (const NodeId reader : readers_[index(value)]) {
      const Node& node = from().node(reader);
      if (is_view(node)) {
        mark_casts_folded(node.outputs[0]);
      } else {
        folded_[static_cast<size_t>(reader.index)] = true;
      }
    }
  }

  Replay replay_;
  SharedCasts shared_;
  std::vector<std::vector<NodeId>> readers_;
  std::vector<bool> folded_;  // node -> true for a cast folded into the op before it
};

// Folds a cast of an input only if every reader of the cast can fold it. If only some readers did, the value would be
// cast more than once.
class InputCastFolding {
 public:
  InputCastFolding(const Graph& graph, SharedCasts shared) : replay_(graph), folded_(graph.nodes.size(), false) {
    const std::vector<std::vector<NodeId>> readers = readers_of(graph);
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      if (!is_foldable_cast(graph, node)) continue;
      const std::vector<NodeId>& readers_of_cast = readers[static_cast<size_t>(node.outputs[0].index)];
      const bool is_shared = readers_of_cast.size() > 1 && !widens(graph, node);
      if (shared == SharedCasts::kKeep && is_shared) continue;
      folded_[i] = can_fold(graph, readers_of_cast, node.outputs[0]);
    }
  }

  Graph run() {
    for (const Node& node : from().nodes) {
      Attributes attributes = node.attributes;
      std::vector<ValueId> inputs = replay_.mapped(node.inputs);
      for (size_t i = 0; i < inputs.size(); ++i) {
        const NodeId producer = from().value(node.inputs[i]).producer;
        if (!producer.valid() || !folded_[static_cast<size_t>(producer.index)]) continue;
        const auto with_cast = attributes_with_input_cast(from(), node, attributes, i);
        LAPTIME_CHECK(with_cast.has_value(), "{} can fold a cast of input {} only if it folds no other cast",
                      node.op->name, i);
        attributes = *with_cast;
        inputs[i] = replay_[from().node(producer).inputs[0]];
      }
      replay_.copy(node, attributes, inputs);
    }
    return replay_.finish();
  }

 private:
  const Graph& from() const { return replay_.from; }

  Replay replay_;
  std::vector<bool> folded_;  // node -> true for a cast folded into its readers
};

}  // namespace

Graph fold_casts(const Graph& graph, SharedCasts shared) {
  return InputCastFolding(OutputCastFolding(graph, shared).run(), shared).run();
}

}  // namespace laptime
