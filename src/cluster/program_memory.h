// program_memory: the memory that another program needs for a step on one described machine.
#pragma once

#include <optional>

#include "analysis/plan_findings.h"
#include "cluster/parallel_plan.h"

namespace laptime {

// The bytes by which a step of `program` exceeds the device's memory; negative if it fits. `config` must come from
// as_program(). Returns none for a pass that is not a whole step, and for options that only laptime has: the memory of
// the program is not known then.
std::optional<double> memory_excess(const RunConfig& config, Program program, SharePlans& plans);

// Replaces the memory of laptime's plan in the record of the point by that of `program`, and with it whether the point
// fits. Returns false, and changes nothing, if memory_excess() has no value.
bool set_memory(const RunConfig& config, Program program, SharePlans& plans, PlannedPoint& planned);

}  // namespace laptime
