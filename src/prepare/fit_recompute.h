// fit_recompute: what --recompute comes to, and where it is auto, the least recomputation with which the step fits.
#pragma once

#include <string>

#include "passes/recompute.h"
#include "plan/plan.h"
#include "prepare/device.h"
#include "prepare/memory_check.h"

namespace laptime {

struct FittedRecompute {
  RecomputeRule rule;
  std::string text;    // "none", "block", "every=2", "block in layers 0-3 of 12", "loss" where no layer is
  std::string advice;  // where nothing that auto tries fits: what would need less
};

// Of `auto` the first that fits into the bound, or the leanest where none does; a fixed choice is not looked at.
FittedRecompute fit_recompute(const RunConfig& config, const MemoryBound& bound, const ChooseKernel& choose);

}  // namespace laptime
