// start_program: starts a program with descriptors of our choice.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

namespace laptime {

struct ProgramStreams {
  int input = -1;  // -1: that of this process
  int output = -1;
  int errors = -1;
  int signal_of_our_death = SIGKILL;  // that the program gets when this process has died
  bool has_own_session = false;       // no key of the terminal reaches the program, and it can ask for no password
};

// `words`: the program, found as a shell finds it, and its arguments. Signals have the actions that they had before
// StopSignals. Error if the program cannot be started. The caller must have a single thread.
pid_t start_program(std::vector<std::string> words, const ProgramStreams& streams);

}  // namespace laptime
