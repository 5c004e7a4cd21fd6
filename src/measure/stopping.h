// The stopping rule that a configuration asks for.
#pragma once

#include "config/run_config.h"
#include "distribution/stopping_rule.h"

namespace laptime {

// Whether the numbers of steps are given; without them the rule chooses.
inline bool has_fixed_steps(const RunConfig& config) { return config.steps.has_value(); }

inline StoppingRule stopping_rule(const RunConfig& config) {
  if (!has_fixed_steps(config)) return StoppingRule({.budget = Seconds{config.budget}});
  return StoppingRule::fixed(config.warmup.value_or(0), *config.steps);
}

}  // namespace laptime
