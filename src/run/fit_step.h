// fit_step: the graph of a point, and where --recompute is auto, the least recomputation with which it fits.
#pragma once

#include <string>

#include "graph/graph.h"
#include "passes/recompute.h"
#include "plan/plan.h"
#include "run/make_backend.h"

namespace laptime {

struct FittedStep {
  RecomputeRule rule;
  Graph graph;
  std::string recompute;  // "none", "block", "every=2", "block in layers 0-3"
};

// The bytes that a step may hold: --memory-limit, and 95 % of what the device or machine has left.
int64_t usable_bytes(const RunConfig& config, const Device& device);

// Throws OutOfMemory, saying what would fit, where no choice does; a fixed choice is not checked.
FittedStep fit_step(const RunConfig& config, const Device& device, const ChooseKernel& choose);

}  // namespace laptime
