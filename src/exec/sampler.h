// Takes warm-up steps and samples with an executor until a stopping rule is satisfied.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "backend/backend.h"
#include "distribution/stopping_rule.h"
#include "exec/executor.h"

namespace laptime {

// Callbacks around each step, outside the timed region. Steps count from 0.
struct StepHooks {
  std::function<void(int64_t step)> before;                           // provides the inputs of the step
  std::function<void(int64_t step, const Timeline& timeline)> after;  // reads the results of the step
  // Called before `after` when launches are marked, with the times of Executor::launch_times.
  std::function<void(int64_t step, const std::vector<Seconds>& times)> launches;
  std::function<bool()> interrupted;  // called between steps; true ends sampling
};

// All steps in order: the warm-up, then the samples.
struct Sampling {
  std::vector<Timeline> steps;   // every single step that ran
  int64_t warmup = 0;            // how many of `steps` are warm-up
  int64_t steps_per_sample = 1;  // more than one if a single step is too short to time
  StopReason reason = StopReason::kFixed;
  SteadyState steady_state;
  bool interrupted = false;

  int64_t sample_count() const { return (static_cast<int64_t>(steps.size()) - warmup) / steps_per_sample; }
};

// When to stop sampling.
struct SamplingRequest {
  StoppingRule rule;
  bool fixed = false;  // fixed number of samples, each of one step however short
  // Marks of every launch are taken from the second step on if they are expected to take less than this fraction of it.
  double launch_marks_below = 0;
  // The part of a step that is reported, which decides about steady state, batches and the end. Null: all of it.
  std::function<Seconds(const Timeline&)> reported{};
};

Sampling sample(Executor& executor, const SamplingRequest& request, const StepHooks& hooks);

}  // namespace laptime
