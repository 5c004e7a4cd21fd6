// The program from its words to its exit code.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace laptime {

// What the words ask for: a command with its words, or, without one, a text (help or the version).
struct Request {
  const Command* command = nullptr;
  CommandWords words;
  std::string text;
};

// Which command, and which of its words are options; values are not looked at yet. `words` are those after the
// program's name. Error for what is not a command or one of its options: what is wrong, where, and the nearest known
// word.
Request parse_request(const std::vector<std::string>& words);

// All of the words understood. Reads the file of --config. Error as parse_request, and for values that make no sense.
CommandAction parse_arguments(const std::vector<std::string>& words);

// The words after the program's name. Errors become one message on standard error.
ExitCode run_program(const std::vector<std::string>& words);

}  // namespace laptime
