// One training step as a graph: forward, loss, symbolic gradients, clipping, optimizer.
#pragma once

#include "config/run_config.h"
#include "graph/graph.h"
#include "model/step_names.h"

namespace laptime {

struct StepOutputs {
  bool logits = false;     // keep the logits until the step ends
  bool gradients = false;  // keep every gradient until the step ends, also with --pass step
};

// The graph for config.pass before any graph pass. With Pass::kForward it still contains backward, which passes/saved.h
// removes later. `real` is the type of parameters: float32, or float64 for a reference run. If the pass ends in
// backward, the gradients of parameters and of floating-point inputs are outputs: with --loss-scale those of the scaled
// loss, or in a step those of the loss.
Graph build_train_step(const RunConfig& config, const StepOutputs& keep = {}, DType real = DType::kFloat32);

}  // namespace laptime
