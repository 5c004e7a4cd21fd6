// The program from its words to its exit code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"

namespace laptime {

// The words after the name of a command, split into options and others. No value is checked, and nothing is rejected.
struct SortedWords {
  // An option of the command, with the texts given for it; "true" for a switch without one.
  struct GivenOption {
    OptionRow row;
    std::vector<std::string> texts = {};
  };
  std::vector<GivenOption> options;      // in the order in which they are first given
  std::vector<std::string> positionals;  // the other words
  std::string unknown;                   // the first word that looks like an option and is none; empty without one
  std::optional<OptionRow> open;         // the last word is this option, and its value is missing
  bool help = false;                     // --help is among the words
  bool options_ended = false;            // by "--"
};
SortedWords sort_words(const Command& command, std::vector<std::string> words);

// A command with its words or, without a command, the text that was asked for (help or the version).
struct Request {
  const Command* command = nullptr;
  CommandWords words;
  std::string text;
};

// Finds the command and its options; values are not checked yet. `words` are those after the program's name. Error for
// an unknown command or option, with the nearest known word.
Request parse_request(const std::vector<std::string>& words);

// Parses everything, the file of --config too. Error as parse_request, and for invalid values.
CommandAction parse_arguments(const std::vector<std::string>& words);

// Runs the command that the words after the program's name ask for. Errors become one message on standard error.
ExitCode run_program(const std::vector<std::string>& words);

}  // namespace laptime
