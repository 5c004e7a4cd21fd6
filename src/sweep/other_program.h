// run_other_program: runs a program to its end and returns what it printed.
#pragma once

#include <string>
#include <vector>

#include "base/units.h"
#include "record/record.h"
#include "sweep/stop_signals.h"

namespace laptime {

struct OtherProgram {
  std::string output;  // standard output
  std::string errors;  // the end of standard error
  int exit_code = 0;   // 128 + the signal that ended it
};

// `words`: the program, found as a shell finds it, and its arguments. The first stop signal is handed on as SIGTERM,
// the second kills the program; so does the end of `timeout`. It dies with this process. Error if it cannot be started.
// The caller must have a single thread.
OtherProgram run_other_program(const std::vector<std::string>& words, Seconds timeout, StopSignals& signals);

// The record that the program prints first. If it prints none, the reason of the failed record says why.
Record record_of_program(const std::vector<std::string>& words, Seconds timeout, StopSignals& signals);

}  // namespace laptime
