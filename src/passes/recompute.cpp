// Selects the nodes to recompute and clones them into backward.
#include "passes/recompute.h"

#include <algorithm>
#include <vector>

#include "graph/builder.h"
#include "passes/saved.h"

namespace laptime {
namespace {

constexpr int kNone = -1;                       // no region, or no depth
constexpr int kMaxDepth = 2;                    // longest chain of cheap nodes in which each reads the previous one
constexpr int64_t kMaxTrafficPerSavedByte = 4;  // bytes that a cheap node may move per byte of memory saved

class Recompute {
 public:
  Recompute(const Graph& graph, const RecomputeRule& rule)
      : replay_(graph),
        rule_(rule),
        saved_(graph.storage_roots.size(), false),
        read_late_(graph.storage_roots.size(), false),
        forward_reads_end_(graph.storage_roots.size(), 0),
        cheap_(graph.nodes.size(), 0),
        clones_(graph.nodes.size()) {
    for (const StorageId storage : saved_storages(graph)) saved_[static_cast<size_t>(storage.index)] = true;
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const NodeAnnotations& annotations = graph.nodes[i].annotations;
      if (annotations.phase != Phase::kForward) continue;
      for (const ValueId input : graph.nodes[i].inputs) {
        const auto storage = static_cast<size_t>(graph.value(input).storage.index);
        read_late_[storage] = read_late_[storage] || annotations.deferred;
        forward_reads_end_[storage] = i + 1;
      }
    }
    if (rule.local) find_cheap();
  }

  Graph run() {
    for (; reached_ < from().nodes.size(); ++reached_) {
      const Node& node = from().nodes[reached_];
      if (node.annotations.phase != Phase::kBackward) {
        replay_.copy(node);
        continue;
      }
      const int64_t region = region_of(node);
      std::vector<ValueId> inputs;
      for (const ValueId input : node.inputs) inputs.push_back(read(input, region));
      replay_.copy(node, node.attributes, inputs);
    }
    return replay_.finish();
  }

 private:
  const Graph& from() const { return replay_.from; }
  static size_t at(NodeId id) { return static_cast<size_t>(id.index); }

  int64_t region_of(const Node& node) const {
    if (rule_.group <= 0) return kNone;
    const int64_t layer = node.annotations.region.layer;
    return layer < 0 || layer >= rule_.layers ? kNone : layer / rule_.group;
  }

  // The node that wrote the storage of a value, looking through views; invalid for a source.
  NodeId storage_producer(ValueId value) const { return from().root(from().value(value).storage).producer; }

  // True if forward keeps the value until backward, because a deferred node reads it.
  bool is_read_late(ValueId value) const { return read_late_[static_cast<size_t>(from().value(value).storage.index)]; }

  // True if forward of a later micro-batch reads the value, for example a copy of a parameter that micro-batches share.
  // The value stays in memory until then, so a clone beside it would only add to the memory in use.
  bool forward_reads_it_again(ValueId value) const {
    return forward_reads_end_[static_cast<size_t>(from().value(value).storage.index)] > reached_;
  }

  // Length of the chain of cheap nodes from kept values to this value: 0 for a kept value, and kNone for a value that
  // is neither kept nor cheap.
  int depth_of(ValueId value) const {
    const NodeId producer = storage_producer(value);
    if (!producer.valid() || from().node(producer).op->kind == OpKind::kConstant) return 0;
    if (cheap_[at(producer)] > 0) return cheap_[at(producer)];
    return saved_[static_cast<size_t>(from().value(value).storage.index)] ? 0 : kNone;
  }

  void find_cheap() {
    for (size_t i = 0; i < from().nodes.size(); ++i) {
      const Node& node = from().nodes[i];
      const OpKind kind = node.op->kind;
      const bool is_light = kind == OpKind::kPointwise || kind == OpKind::kReduction || kind == OpKind::kCopy;
      if (!is_light || node.annotations.phase != Phase::kForward || node.op->has_updates()) continue;
      if (region_of(node) != kNone) continue;
      if (!rule_.parameter_copies && from().value(node.outputs[0]).role == Role::kAutocastCopy) continue;
      int64_t bytes = 0;
      if (std::ranges::any_of(node.outputs, [&](ValueId output) { return is_read_late(output); })) continue;
      for (const ValueId output : node.outputs) {
        if (saved_[static_cast<size_t>(from().value(output).storage.index)]) bytes += from().value(output).type.bytes();
      }
      if (bytes == 0 || bytes * kMaxTrafficPerSavedByte < bytes_of(signature_of(from(), node))) continue;
      int depth = 0;
      bool available = true;
      for (const ValueId input : node.inputs) {
        const int input_depth = depth_of(input);
        available = available && input_depth != kNone;
        depth = std::max(depth, input_depth);
      }
      if (available && depth < kMaxDepth) cheap_[i] = depth + 1;
    }
  }

  // The value that a backward node in `region` reads instead of a forward value: a recomputed clone, or the value
  // itself.
  ValueId read(ValueId value, int64_t region) {
    const NodeId producer = from().value(value).producer;
    if (!producer.valid()) return replay_[value];
    const Node& node = from().node(producer);
    if (node.annotations.phase != Phase::kForward) return replay_[value];
    if (node.op->kind == OpKind::kView) {
      const ValueId base = read(node.inputs[0], region);
      if (base == replay_[node.inputs[0]]) return replay_[value];
      annotate_clone(node);
      return replay_.to.emit_one(*node.op, node.attributes, {base});
    }
    if (forward_reads_it_again(value)) return replay_[value];
    const bool same_region = region != kNone && region_of(node) == region;
    if (!same_region && cheap_[at(producer)] == 0) return replay_[value];
    return clone(producer)[static_cast<size_t>(from().value(value).output)];
  }

  const std::vector<ValueId>& clone(NodeId id) {
    std::vector<ValueId>& outputs = clones_[at(id)];
    if (!outputs.empty()) return outputs;
    const Node& node = from().node(id);
    std::vector<ValueId> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(read(input, region_of(node)));
    annotate_clone(node);
    outputs = replay_.to.emit(*node.op, node.attributes, inputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Value& old = from().value(node.outputs[i]);
      replay_.to.annotate(outputs[i], {old.annotations.name, {}, old.annotations.region});
      if (old.role != Role::kActivation) replay_.to.mark_role(outputs[i], old.role);
    }
    return outputs;
  }

  // Gives the next emitted node the annotations of `node`, marked as recomputed in backward.
  void annotate_clone(const Node& node) {
    replay_.to.current = node.annotations;
    replay_.to.current.phase = Phase::kBackward;
    replay_.to.current.frame.clear();
    replay_.to.current.recomputed = true;
  }

  Replay replay_;
  const RecomputeRule rule_;
  std::vector<bool> saved_;                   // storage -> whether forward saves it for backward
  std::vector<bool> read_late_;               // storage -> whether a deferred node of forward reads it
  std::vector<size_t> forward_reads_end_;     // storage -> 1 + index of the last node of forward that reads it; 0: none
  size_t reached_ = 0;                        // index of the node that run() copies
  std::vector<int> cheap_;                    // node -> length of the chain of cheap nodes up to it; 0: not cheap
  std::vector<std::vector<ValueId>> clones_;  // node -> outputs of its clone
};

}  // namespace

Graph recompute(const Graph& graph, const RecomputeRule& rule) { return Recompute(graph, rule).run(); }

}  // namespace laptime
