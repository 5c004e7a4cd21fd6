// RankRequest: what the process that starts the ranks of a point tells rank 0, and rank 0 the others.
#pragma once

#include <string>
#include <string_view>

#include "measure/run_one.h"

namespace laptime {

struct RankRequest {
  SweepPoint point;
  Record described;  // describe_point of it
  MachineKnowledge known{};
  TraceRequest trace{};
};

// One line, with its line break.
std::string message_text(const RankRequest& request);
// Error if the line is not a request.
RankRequest parse_rank_request(std::string_view line);

// After its request, rank 0 ends the point at the next step when its standard input has a line or ends.
inline constexpr std::string_view kStopRanks = "stop\n";
// The first words of a line on standard error that says why a rank ended the run.
inline constexpr std::string_view kRankFailure = "laptime: rank failure: ";
// The word with which mpirun starts the program as a rank.
inline constexpr std::string_view kRankWord = "rank-of-a-point";

}  // namespace laptime
