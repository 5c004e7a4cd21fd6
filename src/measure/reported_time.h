// The time that a configuration reports: the part of a step that belongs to its pass, the FLOPs of the pass, and the
// stopping rule.
#pragma once

#include <span>
#include <vector>

#include "config/run_config.h"
#include "distribution/stopping_rule.h"
#include "exec/sampling.h"
#include "plan/plan.h"

namespace laptime {

// True if the configuration fixes the number of steps; otherwise a run samples until its stopping rule is met.
inline bool has_fixed_steps(const RunConfig& config) { return config.steps.has_value(); }

// A fixed rule if the number of steps is given, otherwise the default rule with the configuration's budget.
inline StoppingRule stopping_rule(const RunConfig& config) {
  if (!has_fixed_steps(config)) return StoppingRule({.budget = Seconds{config.budget}});
  return StoppingRule::fixed(config.warmup.value_or(0), *config.steps);
}

// The phases of a step of the plan, in order.
std::vector<Phase> phases_of(const Plan& plan);

// For each sample, the mean seconds of the part of a step that `time` selects.
std::vector<double> per_sample(const Sampling& sampling, const ReportedTime& time);

// Selects the time of the pass in one step: the time of its only phase, or of the whole step.
ReportedTime reported_time(const Plan& plan, Pass pass);
// Like the function above, for a step with these phases.
ReportedTime reported_time(std::span<const Phase> phases, Pass pass);

// Model FLOPs of one step of the pass. Counts full attention even under a causal mask, and no recomputation.
double model_flops(Pass pass, double forward_flops);

}  // namespace laptime
