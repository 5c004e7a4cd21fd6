// The texts of --help, of `laptime list options` and of the manual page, made from the tables of commands and options.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"

namespace laptime {

std::string_view program_summary();  // one line
std::string_view program_example();  // a command line
std::string_view exit_code_note();   // what each exit code means

// How a value is written: "N,...", "X|none", "eager,...", "FILE"; empty for a switch.
std::string value_words(const OptionRow& row);
// What an option is, with its values and its default.
std::string explanation(const OptionRow& row);
// The groups of the options in the order in which they first appear.
std::vector<std::string_view> groups_of(const std::vector<OptionRow>& rows);

// The options of a command, split by the command whose help explains them.
struct SplitOptions {
  std::vector<OptionRow> own;     // the command itself
  std::vector<OptionRow> shared;  // laptime bench, whose options they are too
};
// All are own options where hardly any is shared, and of laptime bench itself.
SplitOptions split_options(const Command& command);

// No line is wider than `width` columns unless a word is; lines to type are continued as a shell reads them.
std::string program_help(size_t width);
std::string command_help(const Command& command, size_t width);

// The manual page, source for roff with the macros of man(7); made in cli/commands/man.cpp.
std::string man_page();

// Every option of a sweep as a table: flag, values, key, tag in names, default, help.
std::string options_listing(size_t width = 0);  // of a terminal; 0: lines are not broken

}  // namespace laptime
