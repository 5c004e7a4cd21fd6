// fit_recompute: what --recompute comes to, and where it is auto, the least recomputation with which the step fits.
#pragma once

#include <string>

#include "passes/recompute.h"
#include "plan/plan.h"
#include "run/make_backend.h"

namespace laptime {

struct FittedRecompute {
  RecomputeRule rule;
  std::string text;  // "none", "block", "every=2", "block in layers 0-3 of 12", "loss" where no layer is
};

// Throws OutOfMemory, saying what would fit, where no choice does; a fixed choice is not checked.
FittedRecompute fit_recompute(const RunConfig& config, const Device& device, const ChooseKernel& choose);

}  // namespace laptime
