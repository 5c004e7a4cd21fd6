// Takes warm-up steps and samples with an executor until a stopping rule is satisfied.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "backend/backend.h"
#include "exec/executor.h"
#include "exec/sampling.h"

namespace laptime {

// Callbacks around each step, outside the timed region. Steps count from 0.
struct StepHooks {
  std::function<void(int64_t step)> before;                           // provides the inputs of the step
  std::function<void(int64_t step, const Timeline& timeline)> after;  // reads the results of the step
  // Called before `after` when launches are marked, with the times of Executor::launch_times.
  std::function<void(int64_t step, const std::vector<Seconds>& times)> launches;
  std::function<bool()> interrupted;  // called between samples; true ends sampling
  // Called before each step and after the last one. `wants_step` says whether this process wants another step; returns
  // whether all processes take one. Null: this process decides alone.
  std::function<bool(bool wants_step)> agree;
};

// When to stop sampling, and which launches to mark.
struct SamplingRequest {
  StoppingRule rule;
  bool fixed = false;  // a fixed number of samples; each is one step, however short
  // From the second step on, every launch is marked, unless the device replays recorded steps or the marks are expected
  // to take this fraction of a step or more.
  double launch_marks_below = 0;
  ReportedTime reported{};
  Seconds mark{};            // the time that marking one launch takes
  bool marks_first = false;  // mark every launch in the first step, too
};

Sampling sample(Executor& executor, const SamplingRequest& request, const StepHooks& hooks);

}  // namespace laptime
