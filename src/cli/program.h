// The program from its words to its exit code.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"

namespace laptime {

// The words after the name of a command, sorted out without a look at values. Nothing is refused.
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
