// Which assignments need no copy, and which results take the place of an operand.
#include "plan/elide.h"

#include <algorithm>
#include <limits>

#include "graph/op.h"

namespace laptime {
namespace {

constexpr size_t kNoStep = std::numeric_limits<size_t>::max();

class Elider {
 public:
  explicit Elider(const Graph& graph)
      : graph_(graph),
        updates_(graph.storage_roots.size()),
        last_read_(graph.storage_roots.size(), 0),
        is_output_(graph.storage_roots.size(), false),
        is_held_(graph.storage_roots.size(), false) {
    for (size_t i = 0; i < graph.storage_roots.size(); ++i) elision_.storage.push_back({static_cast<int32_t>(i)});
    for (const Value& value : graph.values) {
      if (!value.annotations.held_by.empty()) is_held_[static_cast<size_t>(value.storage.index)] = true;
    }
    elision_.dropped.resize(graph.nodes.size(), false);
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      if (node.op->kind == OpKind::kView) continue;
      for (const ValueId input : node.inputs) last_read_[storage(input)] = i;
      for (const Update& update : node.op->updates)
        updates_[storage(node.inputs[static_cast<size_t>(update.input)])].push_back(i);
    }
    for (const GraphOutput& output : graph.outputs) is_output_[storage(output.value)] = true;
  }

  Elision run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      for (const Update& permission : node.op->may_overwrite) overwrite(node, i, permission);
      const bool assigns = node.op->kind == OpKind::kCopy && !node.op->updates.empty() && node.inputs.size() == 2;
      if (!assigns || !needs_no_copy(node, i)) continue;
      elision_.dropped[i] = true;
      elision_.storage[storage(node.inputs[1])] = bytes_of(node.inputs[0]);
    }
    return std::move(elision_);
  }

 private:
  size_t storage(ValueId value) const { return static_cast<size_t>(graph_.value(value).storage.index); }
  // Whose bytes a value stands in, as decided so far.
  StorageId bytes_of(ValueId value) const { return elision_.storage[storage(value)]; }

  // Puts an output where an input stands that nobody reads any more.
  void overwrite(const Node& node, size_t at, const Update& permission) {
    if (static_cast<size_t>(permission.input) >= node.inputs.size()) return;  // an optional operand
    const ValueId in = node.inputs[static_cast<size_t>(permission.input)];
    const ValueId out = node.outputs[static_cast<size_t>(permission.output)];
    if (bytes_of(out) != graph_.value(out).storage) return;  // it stands over another operand already
    const StorageId bytes = bytes_of(in);
    const Value& root = graph_.root(bytes);
    if (graph_.value(in).type != graph_.value(out).type || root.type.bytes() != graph_.value(in).type.bytes()) return;
    const Node* const maker = graph_.producer(graph_.storage_roots[static_cast<size_t>(bytes.index)]);
    if (maker == nullptr || maker->op->kind == OpKind::kConstant) return;
    const auto aliases =
        std::count_if(node.inputs.begin(), node.inputs.end(), [&](ValueId input) { return bytes_of(input) == bytes; });
    if (aliases != 1) return;
    for (size_t other = 0; other < elision_.storage.size(); ++other) {
      if (elision_.storage[other] != bytes) continue;
      if (last_read_[other] > at || is_output_[other] || is_held_[other] || !updates_[other].empty()) return;
    }
    elision_.storage[storage(out)] = bytes;
  }

  bool needs_no_copy(const Node& assign, size_t at) const {
    const ValueId state = assign.inputs[0];
    const ValueId value = assign.inputs[1];
    if (!graph_.value(value).producer.valid() || graph_.storage_roots[storage(value)] != value) return false;
    if (bytes_of(value) != graph_.value(value).storage) return false;  // it stands in another state already
    const auto made_at = static_cast<size_t>(graph_.value(value).producer.index);
    if (!overwrites_safely(graph_.nodes[made_at], state, value)) return false;
    for (size_t k = made_at + 1; k < at; ++k) {
      if (reads(graph_.nodes[k], bytes_of(state))) return false;
    }
    // Whoever reads the value later must find it: before the state changes again.
    const size_t changes = next_update(storage(state), at);
    return changes == kNoStep || (last_read_[storage(value)] < changes && !is_output_[storage(value)]);
  }

  // A node with one output, all new, which reads its operands place by place.
  bool overwrites_safely(const Node& maker, ValueId state, ValueId value) const {
    if (maker.op->kind != OpKind::kPointwise || !maker.op->updates.empty() || maker.outputs.size() != 1) return false;
    const TensorType& type = graph_.value(state).type;
    if (graph_.value(value).type != type) return false;
    // An operand in the state's bytes must stand place by place under the result: same layout, no broadcast.
    return std::all_of(maker.inputs.begin(), maker.inputs.end(), [&](ValueId input) {
      return bytes_of(input) != bytes_of(state) || graph_.value(input).type == type;
    });
  }

  bool reads(const Node& node, StorageId bytes) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) { return bytes_of(input) == bytes; });
  }

  size_t next_update(size_t state, size_t after) const {
    const std::vector<size_t>& updates = updates_[state];
    const auto next = std::upper_bound(updates.begin(), updates.end(), after);
    return next == updates.end() ? kNoStep : *next;
  }

  const Graph& graph_;
  std::vector<std::vector<size_t>> updates_;  // storage -> the nodes that update it
  std::vector<size_t> last_read_;             // storage -> the last node that reads it
  std::vector<bool> is_output_;               // storage -> outlives the step
  std::vector<bool> is_held_;                 // storage -> a variable holds it
  Elision elision_;
};

}  // namespace

Elision elide_assignments(const Graph& graph) { return Elider(graph).run(); }

}  // namespace laptime
