// run_rank_process: runs one rank in a process that mpirun or srun has started.
#pragma once

#include <cstdint>
#include <string>

namespace laptime {

// Two pipes connect rank 0 with the process that sends requests to it. Each of these two processes holds its ends of
// the pipes in a RankPipes.
struct RankPipes {
  int requests = -1;
  int messages = -1;
  int process = 0;   // process id of rank 0 if start_rank_0 forked it; otherwise 0
  int64_t size = 0;  // number of processes that the user's mpirun or srun has started; 0 without them
};

// Throws Error unless `size`, the number of processes of mpirun or srun, equals the number of ranks of the point.
void require_size(int64_t size, int64_t ranks);

// Runs one rank until the request pipe closes. Rank 0 reads a RankRequest per point, broadcasts it, and writes progress
// messages and then the result (child_messages.h). The other ranks print only errors. `started_as` is the command line
// without the program's name; ranks whose command lines differ stop with an error. Returns the exit code of the
// process: 0 if every point completed.
int run_rank_process(const RankPipes& pipes, const std::string& started_as);

// Forks rank 0, which dies with this process. Returns this process's ends of the pipes. Throws Error if it cannot fork.
RankPipes start_rank_0(const std::string& started_as);

}  // namespace laptime
