// Command: what one command of the program states about itself.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "config/option_table.h"

namespace laptime {

enum class ExitCode : uint8_t {
  kOk = 0,      // points ok, out of memory, or some of them unsupported
  kFailed = 1,  // a point failed or timed out, every point is unsupported, a mismatch, a store or an output lost midway
  kBadInput = 2,   // nothing has run, or record has kept the steps before a wrong line
  kUndecided = 3,  // a comparison that cannot be judged: a point is missing, has failed or is undecided
  kInterrupted = 130
};

// An option of one command alone, which takes one value and stands in no record.
constexpr Option own_option(std::string_view group, std::string_view flag, std::string_view help) {
  Option option{.flag = flag, .key = flag, .group = group, .help = help};
  option.axis = false;
  return option;
}

struct GivenFlag {
  std::string flag;  // without its dashes
  std::string text;  // the value; "true" for a switch without one
};

// The words after the name of a command.
struct CommandWords {
  std::string_view command;              // the name, for messages
  std::vector<GivenFlag> flags;          // options of the command, in the order given
  std::vector<std::string> positionals;  // the other words
  bool help = false;                     // --help is among them
};

// Does what the words ask for. Throws Error for bad input and OutputLost.
using CommandAction = std::function<ExitCode()>;

// A word that a command takes, and what it means.
struct WordHelp {
  std::string word;
  std::string text = {};
};

// The action of a command whose words `parse_words` reads and whose work `run_command` does.
template <auto parse_words, auto run_command>
CommandAction action_of(const CommandWords& words) {
  return [command = parse_words(words)] { return run_command(command); };
}

struct Command {
  std::string_view name;
  std::string_view arguments;  // after the name, in the line of usage
  std::string_view summary;    // one line
  std::string_view details;    // a paragraph for --help; may be empty
  std::vector<OptionRow> (*options)();
  CommandAction (*parse)(const CommandWords& words);    // Error for words that the command does not understand
  std::vector<WordHelp> (*choices)() = nullptr;         // of the first word, for --help
  std::vector<WordHelp> (*filter_columns)() = nullptr;  // that FILTER knows, where the command takes one
  std::string_view examples = {};                       // lines of --help: "  laptime NAME ...\n"
};

// Error where a positional word follows the first `taken`.
void reject_positionals(const CommandWords& words, size_t taken = 0);

// Reads the value into the field of `config` that has this flag; false where it has none.
template <class Config>
bool assign_given(Config& config, const GivenFlag& given) {
  return assign(config, given.flag, fmt::format("--{}", given.flag), given.text);
}

// "2%", "2 %" and "2" are 0.02. Error for anything else and above 100 %; its message starts with `where`.
double parse_percent(std::string_view where, std::string_view text);

// Returns the text unchanged; Error unless parse_percent accepts it.
std::string canonical_percent(std::string_view where, std::string_view text);

// The options of the command of this type, as the words give them.
template <class Options>
Options given_options(const CommandWords& words) {
  Options options;
  for (const GivenFlag& given : words.flags) assign_given(options, given);
  return options;
}

}  // namespace laptime
