// run_rank_process: one rank of a point, in the process that mpirun has started for it.
#pragma once

namespace laptime {

// Rank 0 reads a RankRequest from standard input, tells it to the others, and writes messages (child_messages.h) to
// standard output: its progress and, in the end, the result. The other ranks print nothing, unless they fail. Returns
// the exit code of the process, 0 after a complete run.
int run_rank_process();

}  // namespace laptime
