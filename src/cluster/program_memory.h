// program_memory: the memory that another program needs for a step on one described machine.
#pragma once

#include <optional>

#include "analysis/plan_findings.h"
#include "cluster/parallel_plan.h"

namespace laptime {

// By how many bytes the step exceeds the device's memory when `program` runs it; negative if it fits. `config` is a
// point as `program` runs it (as_program). None if only laptime's own plan is known: for other passes than a whole
// step, and for options that other programs do not have.
std::optional<double> memory_excess(const RunConfig& config, Program program, SharePlans& plans);

// Replaces the memory of laptime's plan in the record of the point by that of `program`, and with it whether the point
// fits. Returns false, and changes nothing, if memory_excess() has no value.
bool set_memory(const RunConfig& config, Program program, SharePlans& plans, PlannedPoint& planned);

}  // namespace laptime
