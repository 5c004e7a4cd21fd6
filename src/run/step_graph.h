// The graph of a point after all passes.
#pragma once

#include "config/run_config.h"
#include "graph/graph.h"
#include "model/train_step.h"
#include "passes/pipeline.h"

namespace laptime {

// What the passes are told for this configuration.
PipelineOptions pipeline_options(const RunConfig& config);

Graph lowered_graph(const RunConfig& config, const StepOutputs& keep = {}, const PassObserver& observer = {});

}  // namespace laptime
