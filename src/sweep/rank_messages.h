// RankRequest: the point that a sweep sends to rank 0, which passes it on to the other ranks.
#pragma once

#include <string>
#include <string_view>

#include "measure/run_one.h"

namespace laptime {

struct RankRequest {
  SweepPoint point;
  Record described;  // result of describe_point
  MachineKnowledge known{};
  TraceRequest trace{};
};

// One line, including the line break.
std::string message_text(const RankRequest& request);
// Throws Error if the line is not a request.
RankRequest parse_rank_request(std::string_view line);

// Asks rank 0 to end the point after the current step; the end of its standard input does the same.
inline constexpr std::string_view kStopRanks = "stop\n";
// Prefix of the line on standard error that says why a rank ended the run.
inline constexpr std::string_view kRankFailure = "laptime: rank failure: ";
// The argument with which mpirun starts the program as a rank.
inline constexpr std::string_view kRankWord = "rank-of-a-point";

}  // namespace laptime
