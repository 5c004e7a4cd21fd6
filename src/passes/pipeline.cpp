// Runs the passes of a step in their order.
#include "passes/pipeline.h"

#include <algorithm>

#include "graph/op.h"
#include "passes/autocast.h"
#include "passes/communicate.h"
#include "passes/dead_code.h"
#include "passes/decompose.h"
#include "passes/differentiate.h"
#include "passes/fold_addends.h"
#include "passes/fold_casts.h"
#include "passes/optimizer_in_backward.h"
#include "passes/pad_rows.h"
#include "passes/row_groups.h"
#include "passes/saved.h"
#include "passes/store_copies.h"

namespace laptime {
namespace {

// A compiled step has no variables that keep values alive: each value is freed after its last use.
Graph release_variables(Graph graph) {
  for (Value& value : graph.values) value.annotations.held_by.clear();
  return graph;
}

// Composites that stay whole until autocast runs: options.keep, and those whose casts depend on autocast's types.
std::vector<std::string> kept_for_autocast(const Graph& model, const PipelineOptions& options) {
  std::vector<std::string> keep = options.keep;
  for (const Node& node : model.nodes) {
    const bool waits = options.lower && node.op->casts_by_input;
    if (waits && std::ranges::find(keep, node.op->name) == keep.end()) keep.emplace_back(node.op->name);
  }
  return keep;
}

}  // namespace

Graph run_passes(const Graph& model, const PipelineOptions& options, const PassObserver& observer) {
  const auto checked = [&](const char* name, Graph graph) {
    verify(graph, name);
    if (observer) observer(name, graph);
    return graph;
  };
  Graph graph = checked("model", model);
  const std::vector<std::string> keep = kept_for_autocast(model, options);
  graph = checked("decompose", decompose(graph, keep, options.lower_kept));
  const bool splits = std::ranges::any_of(graph.nodes, [](const Node& node) { return node.op->split_rows != nullptr; });
  if (splits) graph = checked("split_rows", decompose(split_rows(graph), keep, options.lower_kept));
  if (options.lower) graph = checked("autocast", autocast(graph, *options.lower, options.compile));
  if (keep != options.keep) graph = checked("decompose", decompose(graph, options.keep, options.lower_kept));
  graph = checked("differentiate",
                  differentiate(graph, options.compile ? GradientOrder::kWeightsFirst : GradientOrder::kInputsFirst));
  graph = checked("dead_code", dead_code(graph));
  if (splits) graph = checked("run_deferred", run_deferred(graph));
  const bool recomputes = options.recompute.local || options.recompute.group > 0;
  if (options.compile) graph = release_variables(std::move(graph));
  if (options.compile) graph = checked("fold_casts", fold_casts(graph, options.shared_casts));
  if (options.compile) graph = checked("fold_addends", fold_addends(graph));
  if (options.store_copies) graph = checked("store_copies", store_copies(graph));
  if (recomputes) graph = checked("recompute", recompute(graph, options.recompute));
  if (options.compile || recomputes) graph = checked("dead_code", dead_code(graph));
  if (options.pad_rows) graph = checked("pad_rows", pad_rows(graph));
  if (options.optimizer_in_backward) graph = checked("optimizer_in_backward", optimizer_in_backward(graph));
  if (options.forward_only) graph = checked("cut_forward", cut_forward(graph));
  if (options.bucket_bytes > 0) graph = checked("communicate", communicate(graph, options.bucket_bytes));
  return graph;
}

}  // namespace laptime
