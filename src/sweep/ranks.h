// run_ranks: runs a point on several ranks, which mpirun starts, or has started.
#pragma once

#include <string>
#include <vector>

#include "measure/run_one.h"
#include "sweep/rank_process.h"

namespace laptime {

// As run_one, for a point with several ranks. The caller is a process of its own, as of run_in_child; all ranks end
// with it. A rank that dies, hangs or disagrees with rank 0 makes the record `failed`, with the reason. `started` is
// the rank 0 that runs already (start_rank_0); none: mpirun starts all.
PointResult run_ranks(const ResolvedPoint& point, const MachineKnowledge& known, const PointHooks& hooks,
                      const TraceRequest& trace, const Record& described, const RankPipes& started = {});

// The words that start this program so many times as a rank. `is_root`: mpirun refuses root unless told otherwise.
std::vector<std::string> mpirun_words(const std::string& program, int64_t ranks, bool is_root);

// Why the ranks ended without a result, from what mpirun and the ranks wrote to standard error.
std::string reason_of_ranks(const std::string& errors, int exit_code);

}  // namespace laptime
