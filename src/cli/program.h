// The program from its words to its exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace laptime {

// The words after the program's name. Errors become one message on standard error.
ExitCode run_program(const std::vector<std::string>& words);

}  // namespace laptime
