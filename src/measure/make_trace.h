// The trace of a step: launches and buffers from its plan, times from its marks.
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

// Adds what bounds the launches of a device that predicts: the rates that it predicts from.
void add_predicted_rates(const Device& device, StepTrace& trace);

// The times of one step. `times` are Executor::launch_times of it.
TracedStep traced_step(const Timeline& timeline, const std::vector<Seconds>& times);

// The same times added up by phase and class of work.
ClassTimes class_times(const Plan& plan, const std::vector<Seconds>& times);

}  // namespace laptime
