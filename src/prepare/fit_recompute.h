// fit_recompute: resolves --recompute; `auto` becomes the least recomputation with which the step fits in memory.
#pragma once

#include <string>

#include "passes/recompute.h"
#include "plan/plan.h"
#include "prepare/device.h"
#include "prepare/memory_check.h"

namespace laptime {

struct FittedRecompute {
  RecomputeRule rule;
  std::string text;    // "none", "block", "every=2", "block in layers 0-3 of 12", "cheap ops" or "loss"
  std::string advice;  // how to use less memory, if auto finds no choice that fits
};

// For auto, returns the first choice that fits within the bound, or the choice that needs the least memory if none
// fits. Any other value is kept, but a compiled step on a GPU also recomputes cheap nodes if it would not fit.
FittedRecompute fit_recompute(const RunConfig& config, const MemoryBound& bound, const ChooseKernel& choose);

// The --recompute value for the choice with this name: "block". If no value describes the choice exactly, the choice
// follows in parentheses: "auto (block in layers 0-3 of 12)", "none (only cheap ops)".
std::string typed_recompute(const std::string& text);

}  // namespace laptime
