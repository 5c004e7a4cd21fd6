// start_program: starts a program with given standard streams.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

namespace laptime {

// Advice for an error if the system cannot create a process.
inline constexpr const char* kMoreProcesses = "end other programs, or raise `ulimit -u`";

struct ProgramStreams {
  int input = -1;  // -1: the standard input of this process
  int output = -1;
  int errors = -1;
  int signal_of_our_death = SIGKILL;  // signal that the program gets when this process dies
  bool has_own_session = false;       // detached from the terminal: gets no Ctrl-C, and cannot ask for a password
  const char* advice = "give the path of a program";  // for the error if the program cannot be run
};

// `words` holds the program, which is searched for in PATH, and its arguments. The program starts with the signal
// actions from before StopSignals, and with the default actions of the signals that laptime ignores. Throws Error if
// the program cannot be started. The calling process must have a single thread.
pid_t start_program(std::vector<std::string> words, const ProgramStreams& streams);

}  // namespace laptime
