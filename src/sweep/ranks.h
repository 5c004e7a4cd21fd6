// run_ranks: runs a point on several ranks, which mpirun starts or which are already running.
#pragma once

#include <string>
#include <vector>

#include "measure/run_one.h"
#include "sweep/rank_process.h"

namespace laptime {

// Like run_one, for a point with several ranks. The caller must be a separate process, as in run_in_child. If a rank
// dies, hangs or disagrees with rank 0, the record is `failed` with the reason. `started`: the pipes of a running rank
// 0 (start_rank_0); without them, mpirun starts all ranks, and they end with the calling process.
PointResult run_ranks(const ResolvedPoint& point, const MachineKnowledge& known, const PointHooks& hooks,
                      const TraceRequest& trace, const Record& described, const RankPipes& started = {});

// The command that starts `ranks` ranks of this program. `is_root`: the user is root, whom mpirun rejects by default.
std::vector<std::string> mpirun_words(const std::string& program, int64_t ranks, bool is_root);

// Says why the ranks ended without a result, according to the standard error of mpirun and the ranks.
std::string reason_of_ranks(const std::string& errors, int exit_code);

}  // namespace laptime
