// Sampler: warm-up and samples of one executor, by a stopping rule.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "backend/backend.h"
#include "distribution/stopping_rule.h"
#include "exec/executor.h"

namespace laptime {

// What the caller does around each step, outside the timed region. Steps count from 0.
struct StepHooks {
  std::function<void(int64_t step)> before;                           // brings the step's inputs
  std::function<void(int64_t step, const Timeline& timeline)> after;  // reads what the step left
  std::function<bool()> interrupted;                                  // asked between steps; true ends the sampling
};

// All steps in order: the warm-up, then the samples.
struct Sampling {
  std::vector<Timeline> steps;   // every single step that ran
  int64_t warmup = 0;            // how many of `steps` are warm-up
  int64_t steps_per_sample = 1;  // more than one where a single step is too short to time (default rule only)
  StopReason reason = StopReason::kFixed;
  SteadyState steady_state;
  bool interrupted = false;

  int64_t sample_count() const { return (static_cast<int64_t>(steps.size()) - warmup) / steps_per_sample; }
};

// How many steps to take.
struct SamplingRequest {
  StoppingRule rule;
  bool fixed = false;  // a sample is then one step, however short
};

Sampling sample(Executor& executor, const SamplingRequest& request, const StepHooks& hooks);

}  // namespace laptime
