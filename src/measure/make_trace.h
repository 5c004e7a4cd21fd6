// Makes the trace of a step: launches and buffers come from its plan, times from Executor::launch_times.
#pragma once

#include <vector>

#include "measure/measurement.h"
#include "plan/plan.h"
#include "prepare/device.h"
#include "record/step_trace.h"
#include "timeline/timeline.h"

namespace laptime {

// Launches and buffers of the plan, without times.
StepTrace trace_of(const Plan& plan);

// For a device that predicts times, adds the rates that limit its predicted launches. Does nothing for other devices.
void add_predicted_rates(const Device& device, StepTrace& trace);

// Returns a step that took `total`, or the sum of `launches` if that is longer. `launches` are the times that the
// device recorded; it was idle for the rest of the step.
TracedStep watched_step(const std::vector<Seconds>& launches, Seconds total);
// Returns the traced step with this timeline. `times` are its Executor::launch_times.
TracedStep traced_step(const Timeline& timeline, const std::vector<Seconds>& times);

// Sums the durations of the launches in `times`, which are Executor::launch_times, by phase and class of work.
ClassTimes class_times(const Plan& plan, const std::vector<Seconds>& times);

}  // namespace laptime
