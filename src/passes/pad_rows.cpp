// Finds the nodes whose results can be padded, then replays the graph with padded results.
#include "passes/pad_rows.h"

#include <algorithm>
#include <vector>

#include "graph/builder.h"
#include "graph/op.h"

namespace laptime {
namespace {

constexpr int64_t kLeastRowBytes = 8 * kWidestAccessBytes;  // minimum, so that padding adds less than an eighth

class RowPadding {
 public:
  explicit RowPadding(const Graph& graph)
      : replay_(graph), readers_(graph.values.size()), padded_(graph.nodes.size(), false) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      for (const ValueId input : graph.nodes[i].inputs) readers_[index(input)].push_back(i);
    }
    for (size_t i = 0; i < graph.nodes.size(); ++i) padded_[i] = is_candidate(graph.nodes[i]);
    while (exclude_different_overwrites()) {}
  }

  Graph run() {
    for (size_t i = 0; i < from().nodes.size(); ++i) {
      const Node& node = from().nodes[i];
      replay_.copy(node, padded_[i] ? *node.op->pad_rows(node.attributes) : node.attributes,
                   replay_.mapped(node.inputs));
    }
    return replay_.finish();
  }

 private:
  const Graph& from() const { return replay_.from; }
  static size_t index(ValueId value) { return static_cast<size_t>(value.index); }

  bool is_candidate(const Node& node) const {
    if (node.op->pad_rows == nullptr || !node.op->pad_rows(node.attributes)) return false;
    const TensorType& type = from().value(node.outputs[0]).type;
    if (type.shape().rank() < 2 || !type.layout.is_contiguous()) return false;
    const int64_t row = type.shape().back() * size_of(type.dtype);
    if (row % kWidestAccessBytes == 0 || row < kLeastRowBytes) return false;
    return !readers_[index(node.outputs[0])].empty() &&
           all_read_gaps(node.outputs[0], padded_type(type.dtype, type.shape()).layout);
  }

  // True if every op that reads the value, directly or through views, is at least as fast when the value has this
  // layout.
  bool all_read_gaps(ValueId value, const Layout& layout) const {
    return std::ranges::all_of(readers_[index(value)], [&](size_t reader) {
      const Node& node = from().nodes[reader];
      if (node.op->kind == OpKind::kView) {
        const std::optional<Layout> view = node.op->view(node.attributes, layout);
        return view && all_read_gaps(node.outputs[0], *view);
      }
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] == value && !node.op->reads_padded_rows.contains(static_cast<int>(i))) return false;
      }
      return true;
    });
  }

  bool is_padded(ValueId value) const {
    const NodeId producer = from().value(value).producer;
    return producer.valid() && value == from().node(producer).outputs[0] &&
           padded_[static_cast<size_t>(producer.index)];
  }

  // Excludes nodes from padding so that a result and an operand that it may overwrite keep the same layout. Returns
  // true if any node was excluded.
  bool exclude_different_overwrites() {
    bool excluded = false;
    for (const Node& node : from().nodes) {
      for (const Update& permission : node.op->may_overwrite) {
        if (static_cast<size_t>(permission.input) >= node.inputs.size()) continue;  // an absent optional operand
        const ValueId in = node.inputs[static_cast<size_t>(permission.input)];
        const ValueId out = node.outputs[static_cast<size_t>(permission.output)];
        if (from().value(in).type != from().value(out).type || is_padded(in) == is_padded(out)) continue;
        padded_[static_cast<size_t>(from().value(is_padded(in) ? in : out).producer.index)] = false;
        excluded = true;
      }
    }
    return excluded;
  }

  Replay replay_;
  std::vector<std::vector<size_t>> readers_;  // value -> nodes that read it
  std::vector<bool> padded_;                  // node -> whether output 0 is padded
};

}  // namespace

Graph pad_rows(const Graph& graph) { return RowPadding(graph).run(); }

}  // namespace laptime
