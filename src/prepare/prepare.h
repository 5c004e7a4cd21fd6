// prepare: from a configuration and a device to everything that is known before it runs. The only place that makes a
// plan to run.
#pragma once

#include <string>

#include "config/run_config.h"
#include "graph/graph.h"
#include "model/train_step.h"
#include "passes/pipeline.h"
#include "plan/plan.h"
#include "prepare/device.h"
#include "prepare/fit_recompute.h"
#include "prepare/kernel_choice.h"
#include "prepare/knowledge.h"
#include "prepare/memory_check.h"

namespace laptime {

// One point, ready to run: a value that names no memory of the device.
struct Prepared {
  RunConfig config;
  Device device;
  KernelChoices choices;
  MemoryBound bound;
  FittedRecompute recompute;
  Graph graph;           // after all passes
  Plan plan;             // what runs
  MemoryUse memory;      // the forecast: predicted bytes of `plan`
  std::string shortage;  // why the plan does not fit, with the arithmetic and what would need less; empty: it fits

  // Throws OutOfMemory with `shortage` where there is one.
  void require_fit() const;
};

// What a caller adds to the step, and wants to see of it.
struct PrepareOptions {
  StepOutputs outputs = {};
  PassObserver observer = {};  // of the passes that lead to `graph`
};

// Error where --kernels cannot be obeyed, --keep or --lower names no composite, or no kernel of the device runs a node.
// A plan that does not fit is no error: it may be looked at.
Prepared prepare(const RunConfig& config, const Device& device, const MachineKnowledge& known,
                 const PrepareOptions& options = {});

// The graph that prepare would plan, for a configuration that its device does not run: --recompute auto counts as none.
Graph graph_without_device(const RunConfig& config, const PassObserver& observer);

}  // namespace laptime
