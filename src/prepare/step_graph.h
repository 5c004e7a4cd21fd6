// Builds the graph of a point after all passes.
#pragma once

#include "config/run_config.h"
#include "graph/graph.h"
#include "model/train_step.h"
#include "passes/pipeline.h"

namespace laptime {

// The rule for --recompute. `auto` counts as none here, because fit_recompute resolves it.
RecomputeRule recompute_rule(const RunConfig& config);
// The rule that recomputes regions of `group` layers among the first `layers`. If `layers` is 0, the rule recomputes
// only what needs no regions: the head and the loss by groups of rows, and cheap nodes.
RecomputeRule recompute_rule(const RunConfig& config, int64_t group, int64_t layers);

// Options of the passes for this configuration. Throws Error if --keep or --lower names something that is not a
// composite.
PipelineOptions pipeline_options(const RunConfig& config);

Graph lowered_graph(const RunConfig& config, const StepOutputs& keep = {}, const PassObserver& observer = {});
// The graph with `rule` instead of the rule of the configuration.
Graph lowered_graph(const RunConfig& config, const RecomputeRule& rule, const StepOutputs& keep = {},
                    const PassObserver& observer = {});

// Names of the ops that a step may keep whole or lower.
std::vector<std::string_view> composites();

// A pause after each launch of an op, as requested by --delay.
struct DelayedOp {
  const OpCard* op = nullptr;
  Seconds pause{};
};
// None if the option is not given. Throws Error if there is no op with that name.
std::optional<DelayedOp> delayed_op(const RunConfig& config);

// Whether a step keeps a composite whole, and why.
struct CompositeChoice {
  std::string_view op;
  bool whole = false;
  std::string_view reason;
};
// The choice for every composite, whether or not the step uses it. Throws Error if --keep or --lower names something
// that is not a composite.
std::vector<CompositeChoice> composite_choices(const RunConfig& config, const RecomputeRule& rule);

// The composites that the step keeps whole in compile mode without --keep and --lower, except those that this step
// cannot lower.
std::vector<std::string> composites_of(const RunConfig& config);

}  // namespace laptime
