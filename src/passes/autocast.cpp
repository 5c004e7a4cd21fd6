// Replays the graph and inserts the casts to the lower type and to float32.
#include "passes/autocast.h"

#include <algorithm>
#include <map>

#include "graph/builder.h"
#include "graph/structural_ops.h"

namespace laptime {
namespace {

class Autocaster {
 public:
  Autocaster(const Graph& graph, DType lower, bool shares_copies)
      : replay_(graph), lower_(lower), shares_copies_(shares_copies) {}

  Graph run() {
    for (const Node& node : replay_.from.nodes) {
      // The gradients node ends the forward phase of a micro-batch, and with it the context of autocast.
      if (node.op->kind == OpKind::kSymbolic && !shares_copies_) copies_.clear();
      const bool forward = node.annotations.phase == Phase::kForward;
      const Autocast policy = forward ? node.op->autocast : Autocast::kKeep;
      if (policy == Autocast::kKeep) {
        replay_.copy(node);
        continue;
      }
      replay_.to.current = node.annotations;
      std::vector<ValueId> inputs = replay_.mapped(node.inputs);
      const DType target = target_of(policy, inputs);
      for (ValueId& input : inputs) input = cast_root(input, target);
      replay_.copy(node, node.attributes, inputs);
    }
    return replay_.finish();
  }

 private:
  DType target_of(Autocast policy, const std::vector<ValueId>& inputs) const {
    if (policy == Autocast::kFloat32) return DType::kFloat32;
    if (policy == Autocast::kLower) return lower_;
    const bool has_wide =
        std::ranges::any_of(inputs, [&](ValueId input) { return replay_.to.dtype(input) == DType::kFloat32; });
    return has_wide ? DType::kFloat32 : lower_;
  }

  static bool is_view(const Node* node) { return node != nullptr && node->op->kind == OpKind::kView; }
  // True if the node gathers a parameter that is divided among ranks. A view of the result may restore the parameter's
  // shape.
  static bool gathers(const Node* node) { return node != nullptr && node->op->is_made_where_read; }

  ValueId cast_root(ValueId value, DType target) {
    const DType dtype = replay_.to.dtype(value);
    if (!is_floating(dtype) || dtype == target) return value;
    const Node* producer = replay_.to.graph().producer(value);
    const bool is_gathered =
        gathers(producer) || (is_view(producer) && gathers(replay_.to.graph().producer(producer->inputs[0])));
    if (is_view(producer) && !is_gathered) {
      const Node view = *producer;  // a copy: emitting may reallocate the nodes
      return replay_.to.emit_one(*view.op, view.attributes, {cast_root(view.inputs[0], target)});
    }
    const bool is_source = producer == nullptr || is_gathered;
    const bool parameter = is_source && replay_.to.graph().value(value).role == Role::kParameter;
    if (!parameter || target != lower_) return cast(replay_.to, value, target);
    if (replay_.to.current.deferred) {
      // Each row group has a copy of its own, so that the gradients of the groups are summed in the parameter's type.
      const ValueId copy = cast(replay_.to, value, target);
      replay_.to.mark_role(copy, Role::kAutocastCopy);
      return copy;
    }
    const auto [place, missing] = copies_.try_emplace(value);
    if (missing) {
      place->second = cast(replay_.to, value, target);
      replay_.to.mark_role(place->second, Role::kAutocastCopy);
      // autocast's cache keeps the copy until the forward phase ends; the cache belongs to no function's frame.
      replay_.to.annotate(place->second, {{}, ":" + replay_.to.graph().value(value).annotations.name, {}});
    }
    return place->second;
  }

  Replay replay_;
  DType lower_;
  bool shares_copies_;                 // among micro-batches
  std::map<ValueId, ValueId> copies_;  // parameter -> its copy in the lower type
};

}  // namespace

Graph autocast(const Graph& graph, DType lower, bool shares_copies) {
  return Autocaster(graph, lower, shares_copies).run();
}

}  // namespace laptime
