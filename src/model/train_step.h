// One training step as a graph: forward, loss, symbolic gradients, clipping, optimizer.
#pragma once

#include "config/run_config.h"
#include "graph/graph.h"
#include "model/step_names.h"

namespace laptime {

struct StepOutputs {
  bool logits = false;     // keep the logits until the step ends
  bool gradients = false;  // keep every gradient until the step ends, also in `step`
};

// The graph of config.pass before any pass has run; `forward` still holds its gradients (passes/saved.h takes them
// off). `real` is the type of parameters: float32, or float64 for a reference run. Passes that end in backward have the
// gradients of parameters and of inputs that are numbers as outputs.
Graph build_train_step(const RunConfig& config, const StepOutputs& keep = {}, DType real = DType::kFloat32);

}  // namespace laptime
