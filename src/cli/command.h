// Command: one command of the program, the table of all commands, and how a command parses its words.
#pragma once

#include <fmt/format.h>

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/option_table.h"
#include "sweep/rank_process.h"

namespace laptime {

enum class ExitCode : uint8_t {
  kOk = 0,         // every point is ok, out of memory or unsupported, but not all are unsupported
  kFailed = 1,     // a point failed or timed out, every point is unsupported, a check failed, or a store or output was
                   // lost midway
  kBadInput = 2,   // nothing ran; for `record`, an invalid line ended the run
  kUndecided = 3,  // a comparison cannot be judged: a point is missing, failed or undecided
  kInterrupted = 130
};

struct GivenFlag {
  std::string flag;  // without the leading dashes
  std::string text;  // the value; "true" for a switch without a value
};

// The words after the name of a command, split into options and positional words.
struct CommandWords {
  std::string_view command;                // the command's name, for messages
  std::vector<GivenFlag> flags{};          // the command's options, in the order given
  std::vector<std::string> positionals{};  // all other words
  bool help = false;                       // --help was given
  bool options_ended = false;              // "--" was given
  std::optional<OptionRow> unfinished{};   // the last word, if it is an option that lacks its value
  std::string problem{};                   // the first error; empty if there is none
};

// Runs a command. `ranks`: the pipes that run_as_rank() opened, for points with several ranks. Throws Error for invalid
// input, and OutputLost.
using CommandAction = std::function<ExitCode(const RankPipes& ranks)>;

struct WordHelp {
  std::string word;
  std::string text = {};  // the meaning of the word
};

constexpr std::string_view no_help(std::string_view) { return ""; }
template <class Rows, class Name = std::identity, class Help = decltype(&no_help)>
std::vector<WordHelp> words_of(const Rows& rows, Name name = {}, Help help = no_help) {
  return mapped(rows, [&](const auto& row) {
    return WordHelp{std::string(std::invoke(name, row)), std::string(std::invoke(help, row))};
  });
}

// Parses a command's words with `parse_words`, and returns an action that passes the result to `run_command`, together
// with the pipes of the ranks if `run_command` takes them.
template <auto parse_words, auto run_command>
CommandAction action_of(const CommandWords& words) {
  return [command = parse_words(words)](const RankPipes& ranks) {
    if constexpr (std::invocable<decltype(run_command), decltype(command), const RankPipes&>) {
      return run_command(command, ranks);
    } else {
      return run_command(command);
    }
  };
}

CommandAction printing(std::string text);  // returns an action that prints the text on standard output

struct Command {
  std::string_view name;
  std::string_view arguments = "[OPTIONS]";  // shown after the name in the usage line
  std::string_view summary;                  // what the command does, in one line
  std::string_view details = {};             // a paragraph for --help
  std::vector<OptionRow> (*options)() = [] { return std::vector<OptionRow>(); };
  CommandAction (*parse)(const CommandWords& words);    // throws Error for words that the command does not understand
  std::vector<WordHelp> (*choices)() = nullptr;         // choices for the first word, shown by --help
  std::vector<WordHelp> (*filter_columns)() = nullptr;  // columns that FILTER accepts, if the command takes a filter
  std::string_view examples = {};                       // lines for --help: "  laptime NAME ...\n"
};

// Defined in the sources of cli/commands/, except the last two (completion.cpp, help.cpp).
extern const Command kBench, kAttention, kCalibrate, kRecord, kCompare, kSelfcheck, kPlan, kExplain, kProfile, kMemory,
    kVerify, kDemo, kShow, kHistory, kImport, kReport, kExport, kList, kPoint, kCompletion, kMan;

std::span<const Command* const> commands();  // in the order in which help lists them

// Splits the words after the name of a command. Does not check values and never throws.
CommandWords split_words(const Command& command, const std::vector<std::string>& words);

struct Request {
  const Command* command = nullptr;
  CommandWords words{};
  std::string text{};  // help or version text, if that was requested instead of a command
};

// `words` are the words after the program's name. Does not check the values of options. Throws Error for an unknown
// command or option, and suggests the nearest known word.
Request parse_request(const std::vector<std::string>& words);

// Parses everything, including the file given by --config. Throws Error like `parse_request`, and for invalid values.
CommandAction parse_arguments(const std::vector<std::string>& words);

// Runs the command given by the words after the program's name. Prints an error as a single message on standard error.
ExitCode run_program(const std::vector<std::string>& words);

// Runs the program as one of several processes of mpirun or srun (ranks.cpp).
//
// Every process of our own mpirun is a rank. If the command measures points, every process of the user's mpirun or srun
// except the first is a rank, too. In a rank, runs the rank to its end and returns the exit code. In any other process,
// returns nothing; the first process of the user's mpirun or srun also starts rank 0 and connects to it through
// `pipes`. Throws Error if rank 0 cannot be started.
std::optional<ExitCode> run_as_rank(const std::vector<std::string>& words, RankPipes& pipes);

// Ends rank 0, if there is one, and waits up to 20 s for it: mpirun reports an error if this process ends before
// rank 0.
void end_ranks(const RankPipes& pipes);

// Use in a visit_fields(): returns a function that declares a command's own options, listed in one group of its help.
// Each option takes one value and is not stored in records; `more` sets further members of the Option.
auto own_options(std::string_view group, auto& visit) {
  return [group, &visit](std::string_view flag, std::string_view help, auto& field, Option more = {}) {
    more.flag = more.key = flag;
    more.group = group;
    more.help = help;
    more.axis = false;
    visit(more, field);
  };
}

// Finds the row for `flag`, which may also be an alternative spelling; null if there is none.
const OptionRow* find_row(const std::vector<OptionRow>& rows, std::string_view flag);

template <class... Rows>
std::vector<OptionRow> together(std::vector<OptionRow> rows, const Rows&... more) {
  (rows.insert(rows.end(), more.begin(), more.end()), ...);
  return rows;
}
// The rows except those with these flags; `flags` are separated by spaces: "sort resume label".
std::vector<OptionRow> without(std::vector<OptionRow> rows, std::string_view flags);
// The OutputConfig options with these flags.
std::vector<OptionRow> output_options(std::string_view flags);

// Throws Error if there are more than `taken` positional words.
void reject_positionals(const CommandWords& words, size_t taken = 0);

// The index of the choice named by the first word. Throws Error if the word is missing or unknown. `noun`: the name of
// the choice in the message.
size_t chosen(const CommandWords& words, std::string_view noun, const std::vector<WordHelp>& choices);

// Reads each option into the first struct that has it, and ignores options that no struct has.
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

// Parses "2%", "2 %" and "2" as 0.02. Throws Error for anything else and for values outside 0 to 100 %.
double parse_percent(std::string_view where, std::string_view text);

}  // namespace laptime
