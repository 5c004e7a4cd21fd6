// What each command does.
#pragma once

#include <string>
#include <vector>

#include "cli/args.h"

namespace laptime {

enum class ExitCode : int {
  kOk = 0,        // every point ok, out of memory or unsupported
  kFailed = 1,    // a point failed or timed out, a mismatch, a store or an output lost midway
  kBadInput = 2,  // nothing has run
  kInterrupted = 130
};

// The words after the program's name. Errors become one message on standard error.
ExitCode run_program(const std::vector<std::string>& words);

// Each throws Error for bad input and OutputLost.
ExitCode run_command(const BenchCommand& command);
ExitCode run_command(const ExplainCommand& command);
ExitCode run_command(const ShowCommand& command);
ExitCode run_command(const ListCommand& command);
ExitCode run_command(const VerifyCommand& command);
ExitCode run_command(const HelpCommand& command);
ExitCode run_command(const VersionCommand& command);

// "laptime: ..." on standard error, safe for a terminal.
void print_message(const std::string& message);

}  // namespace laptime
