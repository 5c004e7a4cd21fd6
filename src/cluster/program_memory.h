// program_memory: points as other programs run them on one device, and the memory that those programs need.
#pragma once

#include <optional>

#include "analysis/plan_findings.h"
#include "cluster/parallel_plan.h"
#include "prepare/resolved_point.h"
#include "record/explanation.h"
#include "table/table.h"

namespace laptime {

struct ProgramPoint {
  // as_program() of the given point. With --recompute auto, recomputes nothing if that fits, otherwise each block.
  ResolvedPoint point;
  // The step of a single rank; none if the memory of the program is not known: for laptime, for a pass that is not a
  // whole step, and for options that only laptime has.
  std::optional<ParallelPlan> rank;
};

// Throws Error like as_program().
ProgramPoint program_point(const ResolvedPoint& given, Program program, SharePlans& plans);

// The bytes by which a step of `program` exceeds the device's memory; negative if it fits, none if unknown. `config` is
// the configuration before as_program().
std::optional<double> memory_excess(const RunConfig& config, Program program, SharePlans& plans);

// Replaces the memory of laptime's plan with that of one.rank, which must have a value, and whether the point fits. For
// a planned point that does not fit, also replaces whether recomputation makes it fit.
void set_memory(const ResolvedPoint& given, const ProgramPoint& one, SharePlans& plans, PlannedPoint& planned);
void set_memory(const ResolvedPoint& given, const ProgramPoint& one, Explanation& explanation);

// The peak memory of a rank, with a row for each part that needs memory.
Table memory_table(const RankBytes& bytes);

}  // namespace laptime
