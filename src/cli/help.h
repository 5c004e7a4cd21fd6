// The texts of --help, of `laptime list options` and of the manual page, made from the tables of commands and options.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/command.h"

namespace laptime {

std::string_view program_example();  // a command line

// What an option is, with its values and its default.
std::string explanation(const OptionRow& row);

// No line is wider than `width` columns unless a word is; lines to type are continued as a shell reads them.
std::string program_help(size_t width);
std::string command_help(const Command& command, size_t width);

// The manual page, source for roff with the macros of man(7). An option that means the same in laptime bench is
// explained there alone.
std::string man_page();

// Every option of a sweep as a table: flag, values, key, tag in names, default, help.
std::string options_listing(size_t width = 0);  // of a terminal; 0: lines are not broken

}  // namespace laptime
