// Choice of the nodes to run again, and their clones in backward.
#include "passes/recompute.h"

#include <algorithm>
#include <vector>

#include "graph/builder.h"
#include "passes/saved.h"

namespace laptime {
namespace {

constexpr int kNowhere = -1;
constexpr int kDeepest = 2;         // cheap nodes made from cheap nodes
constexpr int64_t kWorthwhile = 4;  // bytes moved for each byte saved, at most

class Recompute {
 public:
  Recompute(const Graph& graph, const RecomputeRule& rule)
      : replay_(graph),
        rule_(rule),
        saved_(graph.storage_roots.size(), false),
        cheap_(graph.nodes.size(), 0),
        clones_(graph.nodes.size()) {
    for (const StorageId storage : saved_storages(graph)) saved_[static_cast<size_t>(storage.index)] = true;
    if (rule.local) find_cheap();
  }

  Graph run() {
    for (const Node& node : from().nodes) {
      if (node.annotations.phase != Phase::kBackward) {
        replay_.copy(node);
        continue;
      }
      const int64_t region = region_of(node);
      std::vector<ValueId> inputs;
      for (const ValueId input : node.inputs) inputs.push_back(read(input, region));
      replay_.to.current = node.annotations;
      const std::vector<ValueId> outputs = replay_.to.emit(*node.op, node.attributes, inputs);
      for (size_t i = 0; i < outputs.size(); ++i) replay_.bind(node.outputs[i], outputs[i]);
    }
    return replay_.finish();
  }

 private:
  const Graph& from() const { return replay_.from; }
  static size_t at(NodeId id) { return static_cast<size_t>(id.index); }

  int64_t region_of(const Node& node) const {
    if (rule_.group <= 0) return kNowhere;
    const int64_t layer = node.annotations.region.layer;
    return layer < 0 || layer >= rule_.layers ? kNowhere : layer / rule_.group;
  }

  // The node that made the bytes of a value, seen through views; none for a source.
  NodeId maker(ValueId value) const { return from().root(from().value(value).storage).producer; }

  // How deep a chain of cheap nodes stands between what is kept and this value; -1 where it is not kept nor cheap.
  int depth_of(ValueId value) const {
    const NodeId made_by = maker(value);
    if (!made_by.valid() || from().node(made_by).op->kind == OpKind::kConstant) return 0;
    if (cheap_[at(made_by)] > 0) return cheap_[at(made_by)];
    return saved_[static_cast<size_t>(from().value(value).storage.index)] ? 0 : kNowhere;
  }

  void find_cheap() {
    for (size_t i = 0; i < from().nodes.size(); ++i) {
      const Node& node = from().nodes[i];
      const OpKind kind = node.op->kind;
      const bool light = kind == OpKind::kPointwise || kind == OpKind::kReduction || kind == OpKind::kCopy;
      if (!light || node.annotations.phase != Phase::kForward || !node.op->updates.empty()) continue;
      if (region_of(node) != kNowhere) continue;
      int64_t bytes = 0;
      for (const ValueId output : node.outputs) {
        if (saved_[static_cast<size_t>(from().value(output).storage.index)]) bytes += from().value(output).type.bytes();
      }
      if (bytes == 0 || bytes * kWorthwhile < bytes_of(signature_of(from(), node))) continue;
      int depth = 0;
      bool kept = true;
      for (const ValueId input : node.inputs) {
        const int below = depth_of(input);
        kept = kept && below != kNowhere;
        depth = std::max(depth, below);
      }
      if (kept && depth < kDeepest) cheap_[i] = depth + 1;
    }
  }

  // What a reader in `region` of backward reads in place of a value of forward.
  ValueId read(ValueId value, int64_t region) {
    const NodeId producer = from().value(value).producer;
    if (!producer.valid()) return replay_[value];
    const Node& node = from().node(producer);
    if (node.annotations.phase != Phase::kForward) return replay_[value];
    if (node.op->kind == OpKind::kView) {
      const ValueId base = read(node.inputs[0], region);
      if (base == replay_[node.inputs[0]]) return replay_[value];
      mark(node);
      return replay_.to.emit_one(*node.op, node.attributes, {base});
    }
    const bool own = region != kNowhere && region_of(node) == region;
    if (!own && cheap_[at(producer)] == 0) return replay_[value];
    return clone(producer)[static_cast<size_t>(from().value(value).output)];
  }

  const std::vector<ValueId>& clone(NodeId id) {
    std::vector<ValueId>& outputs = clones_[at(id)];
    if (!outputs.empty()) return outputs;
    const Node& node = from().node(id);
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(read(input, region_of(node)));
    mark(node);
    outputs = replay_.to.emit(*node.op, node.attributes, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Value& old = from().value(node.outputs[i]);
      replay_.to.annotate(outputs[i], {old.annotations.name, {}, old.annotations.region});
      if (old.role != Role::kActivation) replay_.to.mark_role(outputs[i], old.role);
    }
    return outputs;
  }

  void mark(const Node& node) {
    replay_.to.current = node.annotations;
    replay_.to.current.phase = Phase::kBackward;
    replay_.to.current.frame.clear();
    replay_.to.current.recomputed = true;
  }

  Replay replay_;
  const RecomputeRule rule_;
  std::vector<bool> saved_;                   // storage -> backward reads it
  std::vector<int> cheap_;                    // node -> 0, or how long its chain of cheap nodes is
  std::vector<std::vector<ValueId>> clones_;  // node -> the outputs of its clone
};

}  // namespace

Graph recompute(const Graph& graph, const RecomputeRule& rule) { return Recompute(graph, rule).run(); }

}  // namespace laptime
