// Command: one command of the program, the table of all of them, and how a command reads its words.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
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

struct GivenFlag {
  std::string flag;  // without its dashes
  std::string text;  // the value; "true" for a switch without one
};

// The words after the name of a command, split into options and others.
struct CommandWords {
  std::string_view command;                // the name, for messages
  std::vector<GivenFlag> flags{};          // options of the command, in the order given
  std::vector<std::string> positionals{};  // the other words
  bool help = false;                       // --help is among them
  bool options_ended = false;              // by "--"
  std::optional<OptionRow> unfinished{};   // the option that is the last word and lacks its value
  std::string problem{};                   // the first thing that is wrong; empty for none
};

// Throws Error for bad input and OutputLost.
using CommandAction = std::function<ExitCode()>;

struct WordHelp {
  std::string word;
  std::string text = {};  // its meaning
};

template <class Rows, class Name, class Help>
std::vector<WordHelp> words_of(const Rows& rows, Name name, Help help) {
  std::vector<WordHelp> words;
  words.reserve(std::size(rows));
  for (const auto& row : rows)
    words.push_back({std::string(std::invoke(name, row)), std::string(std::invoke(help, row))});
  return words;
}

// The action of a command whose words `parse_words` reads and whose work `run_command` does.
template <auto parse_words, auto run_command>
CommandAction action_of(const CommandWords& words) {
  return [command = parse_words(words)] { return run_command(command); };
}

CommandAction printing(std::string text);  // on standard output

struct Command {
  std::string_view name;
  std::string_view arguments = {};  // after the name, in the line of usage
  std::string_view summary;         // one line
  std::string_view details = {};    // a paragraph for --help
  std::vector<OptionRow> (*options)() = [] { return std::vector<OptionRow>(); };
  CommandAction (*parse)(const CommandWords& words);    // Error for words that the command does not understand
  std::vector<WordHelp> (*choices)() = nullptr;         // of the first word, for --help
  std::vector<WordHelp> (*filter_columns)() = nullptr;  // that FILTER knows, where the command takes one
  std::string_view examples = {};                       // lines of --help: "  laptime NAME ...\n"
};

// Defined in the sources of cli/commands/, but for the last two (completion.cpp, help.cpp).
extern const Command kBench, kAttention, kCalibrate, kRecord, kCompare, kSelfcheck, kPlan, kExplain, kProfile, kMemory,
    kVerify, kDemo, kShow, kHistory, kImport, kReport, kExport, kList, kPoint, kCompletion, kMan;

std::span<const Command* const> commands();  // in the order of help

// Splits the words after the name of a command. Checks no value and throws nothing.
CommandWords split_words(const Command& command, const std::vector<std::string>& words);

struct Request {
  const Command* command = nullptr;
  CommandWords words{};
  std::string text{};  // help or the version, where it was asked for instead of a command
};

// `words` are those after the program's name; values are not checked yet. Error for an unknown command or option, with
// the nearest known word.
Request parse_request(const std::vector<std::string>& words);

// Parses everything, the file of --config too. Error as parse_request, and for invalid values.
CommandAction parse_arguments(const std::vector<std::string>& words);

// Runs the command that the words after the program's name ask for. Errors become one message on standard error.
ExitCode run_program(const std::vector<std::string>& words);

// The fields of an Option that most options of a single command leave at their defaults.
struct OptionDetails {
  std::string_view otherwise = {};
  std::string_view empty = "auto";
  double min = 0;
  double max = std::numeric_limits<double>::max();
  std::string_view value = {};
  std::string (*canonical)(std::string_view where, std::string_view word) = nullptr;
};

// An option of one command alone, which takes one value and stands in no record.
constexpr Option own_option(std::string_view group, std::string_view flag, std::string_view help,
                            const OptionDetails& details = {}) {
  return {.flag = flag,
          .key = flag,
          .group = group,
          .help = help,
          .otherwise = details.otherwise,
          .empty = details.empty,
          .min = details.min,
          .max = details.max,
          .axis = false,
          .value = details.value,
          .canonical = details.canonical};
}

// The row of the option that `flag`, or the flag that it is another spelling of, names; null for none.
const OptionRow* find_row(const std::vector<OptionRow>& rows, std::string_view flag);

std::vector<OptionRow> together(std::vector<std::vector<OptionRow>> parts);
// The rows but those of options that do nothing in a command.
std::vector<OptionRow> without(std::vector<OptionRow> rows, std::initializer_list<std::string_view> flags);
// The options of OutputConfig with these flags.
std::vector<OptionRow> output_options(std::initializer_list<std::string_view> flags);

// Throws if there are more than `taken` positional words.
void reject_positionals(const CommandWords& words, size_t taken = 0);

// The index of the choice that the first word names. Error without a word and for an unknown one; the message calls
// it a `noun`.
size_t chosen(const CommandWords& words, std::string_view noun, const std::vector<WordHelp>& choices);

// Reads each option into the first of the structs that has it, and ignores options that none of them has.
template <class... Configs>
void read_options(const CommandWords& words, Configs&... configs) {
  for (const GivenFlag& given : words.flags) {
    const std::string where = fmt::format("--{}", given.flag);
    static_cast<void>((assign(configs, given.flag, where, given.text) || ...));
  }
}

template <class Options>
Options given_options(const CommandWords& words) {
  Options options;
  read_options(words, options);
  return options;
}

// "2%", "2 %" and "2" are 0.02. Error for anything else and above 100 %. The second function returns the text
// unchanged.
double parse_percent(std::string_view where, std::string_view text);
std::string canonical_percent(std::string_view where, std::string_view text);

}  // namespace laptime
