// measured_point: a point that was measured in a child process, checked against the files that it read.
#pragma once

#include "measure/run_one.h"
#include "sweep/child.h"
#include "sweep/rank_process.h"

namespace laptime {

// Removes the times, everything derived from them, the trace and new measurements from the result of a run that cannot
// be trusted.
void clear_timing(PointResult& result);

// The result of a point that cannot run, for the reason in `point.invalid`.
PointResult refused_point(const ResolvedPoint& point, const Record& described);

// Runs the point with run_in_child. The record is `failed` if a file of --data or --weights changes during the run.
// `described` is the result of describe_point. `ranks`: the pipes of a running rank 0 (start_rank_0), for a point with
// several ranks.
PointResult measured_point(const ResolvedPoint& point, const Record& described, const MachineKnowledge& known,
                           const TraceRequest& trace, ChildLimits limits, StopSignals& signals,
                           const ChildCallbacks& callbacks, const RankPipes& ranks = {});

}  // namespace laptime
