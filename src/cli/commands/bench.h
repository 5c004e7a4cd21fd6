// laptime bench and laptime attention: measure the points of a sweep.
#pragma once

#include "cli/command.h"
#include "config/sweep.h"

namespace laptime {

struct BenchCommand {
  Sweep sweep;
  bool strict = false;  // kFailed unless every point is ok
};

BenchCommand parse_bench(const CommandWords& words);
BenchCommand parse_attention(const CommandWords& words);  // Error for a sweep file of another model
ExitCode run(const BenchCommand& command);                // Error for bad input, and OutputLost

}  // namespace laptime
