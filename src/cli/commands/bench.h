// laptime bench: measures the points of a sweep.
#pragma once

#include "cli/command.h"
#include "config/sweep.h"

namespace laptime {

struct BenchCommand {
  Sweep sweep;
  bool strict = false;  // kFailed unless every point is ok
};

BenchCommand parse_bench(const CommandWords& words);
ExitCode run(const BenchCommand& command);  // Error for bad input, and OutputLost

}  // namespace laptime
