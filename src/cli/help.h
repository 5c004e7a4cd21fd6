// The texts of --help and of `laptime list options`, made from the tables of commands and options.
#pragma once

#include <string>

#include "cli/command.h"

namespace laptime {

std::string program_help();
std::string command_help(const Command& command);

// Every option of a sweep as a table: flag, values, key, tag in names, default, help.
std::string options_listing();

}  // namespace laptime
