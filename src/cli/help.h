// What each command takes, and the texts of --help and of `laptime list options`, made from the option tables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/option_table.h"

namespace laptime {

struct CommandText {
  std::string_view name;
  std::string_view arguments;  // after the name, in the line of usage
  std::string_view summary;    // one line
  std::string_view details;    // a paragraph for --help; may be empty
  std::vector<OptionRow> options;
};

// The commands in the order of help.
std::vector<CommandText> command_texts();

std::string program_help();
std::string command_help(const CommandText& command);

// Every option of a sweep as a table: flag, values, key, tag in names, default, help.
std::string options_listing();

}  // namespace laptime
