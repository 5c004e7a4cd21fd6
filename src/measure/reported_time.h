// Which part of a step is the time of the pass that was asked for, and its rate.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "config/run_config.h"
#include "exec/sampler.h"
#include "plan/plan.h"
#include "prepare/time_key.h"

namespace laptime {

// The phase whose time is that of the pass; none if the pass is the whole step.
std::optional<Phase> reported_phase(const Plan& plan, Pass pass);

// Seconds per step of every sample, of the part of a step that `time` gives.
std::vector<double> per_sample(const Sampling& sampling, const std::function<Seconds(const Timeline&)>& time);

// The time of the pass in one step.
std::function<Seconds(const Timeline&)> reported_time(const Plan& plan, Pass pass);

// Model FLOPs of one step of the pass: full attention, recomputation not counted.
double model_flops(const RunConfig& config);

}  // namespace laptime
