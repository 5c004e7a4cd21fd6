// Lowers composites one level at a time, until nothing changes.
#include "passes/decompose.h"

#include <algorithm>

#include "graph/builder.h"

namespace laptime {
namespace {

bool is_faster_lowered(const Graph& graph, const Node& node, LowerKept lower_kept) {
  if (node.op->is_faster_lowered == nullptr || lower_kept == LowerKept::kNone) return false;
  const bool on_gpu = lower_kept == LowerKept::kFasterLoweredOnGpu;
  return node.op->is_faster_lowered(node.attributes, signature_of(graph, node).in, on_gpu);
}

// Lowers each composite once. Sets `changed` to true if any composite was lowered, otherwise to false.
Graph lower_once(const Graph& graph, const std::vector<std::string>& keep, LowerKept lower_kept, bool& changed) {
  changed = false;
  Replay replay(graph);
  for (const Node& node : graph.nodes) {
    bool kept = node.op->decompose == nullptr || std::find(keep.begin(), keep.end(), node.op->name) != keep.end();
    if (kept && node.op->decompose != nullptr) kept = !is_faster_lowered(graph, node, lower_kept);
    if (!kept) {
      replay.to.current = node.annotations;
      if (!replay.to.current.work_class && node.op->kind != OpKind::kContraction)
        replay.to.current.work_class = node.op->work_class;
      const std::vector<ValueId> lowered = node.op->decompose(replay.to, node.attributes, replay.mapped(node.inputs));
      // The result is empty if PyTorch also runs this form of the op as a single kernel.
      if (!lowered.empty()) {
        LAPTIME_CHECK(lowered.size() == node.outputs.size(), "{} lowers to {} values", node.op->name, lowered.size());
        for (size_t i = 0; i < lowered.size(); ++i) {
          if (lowered[i].valid()) replay.bind(node.outputs[i], lowered[i]);
        }
        changed = true;
        continue;
      }
    }
    replay.copy(node);
  }
  return replay.finish();
}

}  // namespace

Graph decompose(const Graph& graph, const std::vector<std::string>& keep, LowerKept lower_kept) {
  bool changed = false;
  Graph lowered = lower_once(graph, keep, lower_kept, changed);
  while (changed) lowered = lower_once(lowered, keep, lower_kept, changed);
  return lowered;
}

}  // namespace laptime
