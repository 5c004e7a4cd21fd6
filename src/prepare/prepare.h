// prepare: builds the graph, the plan and the memory forecast of a point. Every plan that runs is created here.
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

// One point, ready to run. Does not own device memory.
struct Prepared {
  RunConfig config;
  Device device;
  KernelChoices choices;
  MemoryBound bound;
  FittedRecompute recompute;
  Graph graph;           // after all passes
  Plan plan;             // the plan that will run
  MemoryUse memory;      // predicted bytes of `plan`
  std::string shortage;  // why the plan does not fit, with arithmetic and advice; empty if it fits

  // Throws OutOfMemory with `shortage` unless it is empty.
  void require_fit() const;
};

// Additional outputs of the step, an observer of the passes, a weaker check of --kernels, and more recomputation.
struct PrepareOptions {
  StepOutputs outputs = {};
  PassObserver observer = {};         // called after each pass
  bool pins_may_miss = false;         // --kernels need not name a signature of this point
  bool recomputes_cheap_ops = false;  // even if the step would fit without this
};

// Throws Error if --kernels cannot be followed, --keep or --lower names something that is not a composite, the step
// does not launch the op of --delay, or the device has no kernel for a node. A plan that does not fit in memory is not
// an error, because explain shows it.
Prepared prepare(const RunConfig& config, const Device& device, const MachineKnowledge& known,
                 const PrepareOptions& options = {});

// True for launches that the device's program fuses with softmax: scaling and masking in Megatron.
bool is_fused(const Device& device, WorkClass work_class, const Region& region);

// The graph for a configuration that its device cannot run; --recompute auto counts as none.
Graph graph_without_device(const RunConfig& config, const PassObserver& observer);

// "float32", "bfloat16 autocast, float32 accumulation", "float32, products of three bfloat16 terms, denormals in
// products are zero", ...: the number type of the products in the plan's kernels, and every way in which they differ
// from multiply-adds in that type. For a device that computes nothing, ends with ", predicted".
std::string math_mode(const Plan& plan, const Device& device);

}  // namespace laptime
