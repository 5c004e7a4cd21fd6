// run_rank_process: one rank, in the process that mpirun or srun has started for it.
#pragma once

#include <string>

namespace laptime {

// Where rank 0 reads requests, and writes messages.
struct RankPipes {
  int requests = -1;
  int messages = -1;
  int process = 0;  // of rank 0, where start_rank_0 has made one
};

// Rank 0 reads a RankRequest for each point, tells it to the others, and writes messages (child_messages.h): its
// progress and, in the end, the result. The other ranks print nothing, unless they fail. All end when the requests do.
// `started_as` tells what the process was started for; ranks that differ in it end with an error. Returns the exit code
// of the process, 0 after complete points.
int run_rank_process(const RankPipes& pipes, const std::string& started_as);

// As rank 0 in a process of its own, which dies with this one. Returns the ends for the other side of its pipes.
RankPipes start_rank_0(const std::string& started_as);

}  // namespace laptime
