// The program as one of several processes of mpirun or srun.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "sweep/rank_process.h"

namespace laptime {

// A process that our own mpirun has started is a rank, and so is every process but the first one that the user's mpirun
// or srun has started: returns its exit code when it has ended. Otherwise nothing; where this is the first of several
// processes, rank 0 runs beside it from now on. Error if it cannot be started.
std::optional<ExitCode> run_as_rank(const std::vector<std::string>& words);

// The rank 0 that run_as_rank has started; its descriptors are negative where there is none.
RankPipes running_ranks();
// Lets them end, if there are any. mpirun takes it for an error if this process ends before its rank.
void end_ranks();

}  // namespace laptime
