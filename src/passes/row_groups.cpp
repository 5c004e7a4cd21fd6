// Two replays of the graph: one splits composites; the other, after differentiation, reorders nodes so that the values
// of each group are freed early.
#include "passes/row_groups.h"

#include <algorithm>
#include <vector>

#include "graph/builder.h"
#include "graph/op.h"

namespace laptime {
namespace {

class DeferredOrder {
 public:
  explicit DeferredOrder(const Graph& graph) : replay_(graph), is_waiting_(graph.nodes.size(), false) {}

  Graph run() {
    for (size_t i = 0; i < from().nodes.size(); ++i) {
      const Node& node = from().nodes[i];
      if (is_forward(node)) {
        const bool reads = reads_waiting(node);
        if (reads) readers_.push_back(i);
        is_waiting_[i] = reads || node.annotations.deferred;
      }
      if (is_waiting_[i]) continue;
      need_inputs(node);
      replay_.copy(node);
    }
    for (size_t i = 0; i < is_waiting_.size(); ++i) emit(i);
    return replay_.finish();
  }

 private:
  const Graph& from() const { return replay_.from; }
  static bool is_forward(const Node& node) { return node.annotations.phase == Phase::kForward; }

  bool reads_waiting(const Node& node) const {
    return std::ranges::any_of(node.inputs, [&](ValueId input) {
      const NodeId producer = from().value(input).producer;
      return producer.valid() && is_waiting_[static_cast<size_t>(producer.index)];
    });
  }

  // Emits the waiting nodes that compute the inputs of `node`, then those in readers_ whose inputs have all been
  // emitted, in order. The first nodes of other groups are not in readers_, so they keep waiting.
  void need_inputs(const Node& node) {
    if (!reads_waiting(node)) return;
    emit_inputs(node);
    for (const size_t reader : readers_) {
      if (is_waiting_[reader] && !reads_waiting(from().nodes[reader])) emit(reader);
    }
  }

  void emit_inputs(const Node& node) {
    for (const ValueId input : node.inputs) {
      if (const NodeId producer = from().value(input).producer; producer.valid())
        emit(static_cast<size_t>(producer.index));
    }
  }

  void emit(size_t index) {
    if (!is_waiting_[index]) return;
    is_waiting_[index] = false;
    emit_inputs(from().nodes[index]);
    replay_.copy(from().nodes[index]);
  }

  Replay replay_;
  std::vector<bool> is_waiting_;  // node -> whether the walk has passed it without emitting it
  std::vector<size_t> readers_;   // forward nodes that read results of waiting nodes, in the order of the walk
};

}  // namespace

Graph split_rows(const Graph& graph) {
  Replay replay(graph);
  for (const Node& node : graph.nodes) {
    if (node.op->split_rows == nullptr) {
      replay.copy(node);
      continue;
    }
    replay.to.current = node.annotations;
    const std::vector<ValueId> outputs = node.op->split_rows(replay.to, node.attributes, replay.mapped(node.inputs));
    for (size_t i = 0; i < outputs.size(); ++i) replay.bind(node.outputs[i], outputs[i]);
  }
  return replay.finish();
}

Graph run_deferred(const Graph& graph) { return DeferredOrder(graph).run(); }

}  // namespace laptime
