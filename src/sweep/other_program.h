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
  int exit_code = 0;   // 128 + signal number if a signal ended it
};

// `words`: the program, found as in a shell, and its arguments. The first stop signal is forwarded as SIGTERM to the
// program and all that it has started, and the second kills them, as do the end of `timeout` and more than 256 MiB of
// output. The program dies with this process. Throws Error if the program cannot be started. The caller must have a
// single thread.
OtherProgram run_other_program(const std::vector<std::string>& words, Seconds timeout, StopSignals& signals);

// The record in the first line that the program prints. Without output, the result is a failed record whose reason
// says why. Throws Error if the line is not a record.
Record record_of_program(const std::vector<std::string>& words, Seconds timeout, StopSignals& signals);

}  // namespace laptime
