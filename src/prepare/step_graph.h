// The graph of a point after all passes.
#pragma once

#include "config/run_config.h"
#include "graph/graph.h"
#include "model/train_step.h"
#include "passes/pipeline.h"

namespace laptime {

// What --recompute asks for; `auto` is decided by fit_recompute and counts as none here.
RecomputeRule recompute_rule(const RunConfig& config);

// What the passes are told for this configuration. Error where --keep or --lower names no composite.
PipelineOptions pipeline_options(const RunConfig& config);

Graph lowered_graph(const RunConfig& config, const StepOutputs& keep = {}, const PassObserver& observer = {});
// The same with another rule than the configuration's.
Graph lowered_graph(const RunConfig& config, const RecomputeRule& rule, const StepOutputs& keep = {},
                    const PassObserver& observer = {});

// The ops that a step may keep whole or lower, by name.
std::vector<std::string_view> composites();

// Whether a step keeps a composite whole.
struct CompositeChoice {
  std::string_view op;
  bool whole = false;
  std::string_view reason;
};
// Of every composite, whether the step is written in it or not. Error where --keep or --lower names none.
std::vector<CompositeChoice> composite_choices(const RunConfig& config, const RecomputeRule& rule);

// Those that the step of this configuration keeps whole in compile mode where nothing is kept or lowered by name, and
// that can be lowered.
std::vector<std::string> composites_of(const RunConfig& config);

}  // namespace laptime
