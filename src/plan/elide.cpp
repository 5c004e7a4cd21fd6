// Decides which assignments need no copy, and which results reuse the memory of an operand.
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
        reusers_(graph.storage_roots.size()),
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
      for (size_t output = 0; output < node.outputs.size(); ++output) {
        const int input = node.op->updated_input(static_cast<int>(output));
        if (input >= 0) updates_[storage(node.inputs[static_cast<size_t>(input)])].push_back(i);
      }
    }
    for (const GraphOutput& output : graph.outputs) is_output_[storage(output.value)] = true;
  }

  Elision run() {
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      for (const Update& permission : node.op->may_overwrite) reuse_operand(node, i, permission);
      const bool assigns = node.op->kind == OpKind::kCopy && !node.op->updates.empty() && node.inputs.size() == 2;
      if (!assigns || !needs_no_copy(node, i)) continue;
      elision_.dropped[i] = true;
      elision_.storage[storage(node.inputs[1])] = placed_in(node.inputs[0]);
    }
    return std::move(elision_);
  }

 private:
  size_t storage(ValueId value) const { return static_cast<size_t>(graph_.value(value).storage.index); }
  // The storage that a value is placed in, according to the decisions so far.
  StorageId placed_in(ValueId value) const { return elision_.storage[storage(value)]; }

  // Lets an output reuse the storage of an input that is not read afterwards.
  void reuse_operand(const Node& node, size_t at, const Update& permission) {
    if (static_cast<size_t>(permission.input) >= node.inputs.size()) return;  // an absent optional operand
    const ValueId in = node.inputs[static_cast<size_t>(permission.input)];
    const ValueId out = node.outputs[static_cast<size_t>(permission.output)];
    if (placed_in(out) != graph_.value(out).storage) return;  // already reuses the storage of another operand
    const StorageId bytes = placed_in(in);
    const Value& root = graph_.root(bytes);
    const TensorType& type = graph_.value(in).type;
    if (type != graph_.value(out).type || root.type.storage_bytes() != type.storage_bytes()) return;
    if (!graph_.is_of_step(bytes)) return;
    const auto aliases =
        std::count_if(node.inputs.begin(), node.inputs.end(), [&](ValueId input) { return placed_in(input) == bytes; });
    if (aliases != 1) return;
    const auto is_needed = [&](size_t other) {
      return elision_.storage[other] == bytes &&
             (last_read_[other] > at || is_output_[other] || is_held_[other] || !updates_[other].empty());
    };
    std::vector<size_t>& reusers = reusers_[static_cast<size_t>(bytes.index)];
    if (is_needed(static_cast<size_t>(bytes.index)) || std::any_of(reusers.begin(), reusers.end(), is_needed)) return;
    elision_.storage[storage(out)] = bytes;
    reusers.push_back(storage(out));
  }

  bool needs_no_copy(const Node& assign, size_t at) const {
    const ValueId state = assign.inputs[0];
    const ValueId value = assign.inputs[1];
    if (!graph_.value(value).producer.valid() || graph_.storage_roots[storage(value)] != value) return false;
    if (placed_in(value) != graph_.value(value).storage) return false;  // already placed in another state
    const auto producer_index = static_cast<size_t>(graph_.value(value).producer.index);
    if (!may_write_in_place(graph_.nodes[producer_index], state, value)) return false;
    for (size_t k = producer_index + 1; k < at; ++k) {
      if (reads(graph_.nodes[k], placed_in(state))) return false;
    }
    // Later readers of the value must run before the state changes again.
    const size_t next_change = next_update(storage(state), at);
    return next_change == kNoStep || (last_read_[storage(value)] < next_change && !is_output_[storage(value)]);
  }

  // True if the node may write `value` directly into the state: an elementwise node with one newly written output. A
  // state that is a slice of its storage is copied on every rank; otherwise only rank 0, whose slice has offset 0 like
  // `value`, would avoid the copy.
  bool may_write_in_place(const Node& producer, ValueId state, ValueId value) const {
    if (producer.op->kind != OpKind::kPointwise || !producer.op->updates.empty() || producer.outputs.size() != 1)
      return false;
    const TensorType& type = graph_.value(state).type;
    if (graph_.value(value).type != type || graph_.root(graph_.value(state).storage).type != type) return false;
    // An operand that shares the storage of the state must have the same layout, so that each element is read before it
    // is overwritten.
    return std::all_of(producer.inputs.begin(), producer.inputs.end(), [&](ValueId input) {
      return placed_in(input) != placed_in(state) || graph_.value(input).type == type;
    });
  }

  bool reads(const Node& node, StorageId bytes) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId input) { return placed_in(input) == bytes; });
  }

  size_t next_update(size_t state, size_t after) const {
    const std::vector<size_t>& updates = updates_[state];
    const auto next = std::upper_bound(updates.begin(), updates.end(), after);
    return next == updates.end() ? kNoStep : *next;
  }

  const Graph& graph_;
  std::vector<std::vector<size_t>> updates_;  // storage -> nodes that update it
  std::vector<std::vector<size_t>> reusers_;  // storage -> storages that reuse its bytes for a result
  std::vector<size_t> last_read_;             // storage -> last node that reads it
  std::vector<bool> is_output_;               // storage -> whether it outlives the step
  std::vector<bool> is_held_;                 // storage -> whether a variable of the eager program holds it
  Elision elision_;
};

}  // namespace

Elision elide_assignments(const Graph& graph) { return Elider(graph).run(); }

}  // namespace laptime
