// The manual page: a section for each command. An option that means the same in laptime bench is explained there alone.
#include "cli/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string_view>
#include <vector>

#include "base/build_id.h"
#include "base/words.h"
#include "cli/destination.h"
#include "cli/help.h"

namespace laptime {
namespace {

constexpr std::string_view kDescription =
    "Measures one training step of a GPT-style transformer (forward, backward, optimizer) with an engine of its own, "
    "and "
    "says how long each part takes, how much memory it holds, and how far that is from what the machine can do. "
    "Results "
    "stay in a store, from which laptime show and laptime export write them again.";

// Text as roff prints it: signs that roff would interpret are escaped, and a hyphen is the one that can be copied.
std::string roff(std::string_view text) {
  std::string escaped;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) escaped += "\\&";
    begins_line = c == '\n';
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string bold(std::string_view text) { return fmt::format("\\fB{}\\fR", roff(text)); }

// A term, already in roff, with what it means below.
std::string item(std::string_view term, std::string_view meaning) {
  return fmt::format(".TP\n{}\n{}\n", term, roff(meaning));
}

std::string option_item(const OptionRow& row) {
  const std::string value = value_words(row);
  const std::string term = value.empty() ? "" : fmt::format(" \\fI{}\\fR", roff(value));
  return item(bold(fmt::format("--{}", row.option.flag)) + term, explanation(row));
}

std::string own_options(const std::vector<OptionRow>& rows) {
  std::string text;
  for (const std::string_view group : groups_of(rows)) {
    text += fmt::format(".PP\n{}\n", bold(group));
    for (const OptionRow& row : rows) {
      if (row.option.group == group) text += option_item(row);
    }
  }
  return text;
}

std::string flags_of(const std::vector<OptionRow>& rows) {
  std::vector<std::string> flags;
  flags.reserve(rows.size());
  for (const OptionRow& row : rows) flags.push_back(bold(fmt::format("--{}", row.option.flag)));
  return joined(flags, ", ");
}

// Names the options that are those of laptime bench, and explains the others.
std::string options_of(const Command& command) {
  const SplitOptions options = split_options(command);
  std::string text = own_options(options.own);
  if (options.shared.empty()) return text;
  return fmt::format("{}.PP\nAs in {}: {}.\n", text, bold("laptime bench"), flags_of(options.shared));
}

std::string section_of(const Command& command) {
  std::string text =
      fmt::format(".SS laptime {} {}\n{}\n", command.name, roff(command.arguments), roff(command.summary));
  if (!command.details.empty()) text += fmt::format(".PP\n{}\n", roff(command.details));
  if (command.choices != nullptr) {
    for (const WordHelp& choice : command.choices()) text += item(bold(choice.word), choice.text);
  }
  text += options_of(command);
  if (!command.examples.empty()) text += fmt::format(".PP\nExamples:\n.EX\n{}.EE\n", roff(command.examples));
  return text;
}

}  // namespace

std::string man_page() {
  std::string text = fmt::format(
      ".TH LAPTIME 1 \"\" \"laptime {}\" \"User Commands\"\n"
      ".nh\n.ad l\n"  // words to type are not broken
      ".SH NAME\nlaptime \\- {}\n"
      ".SH SYNOPSIS\n",
      version(), roff(program_summary()));
  for (const Command* const command : commands()) {
    const std::string name = fmt::format("laptime {}", command->name);
    text += fmt::format("{} \\fI{}\\fR\n.br\n", bold(name), roff(command->arguments));
  }
  text += fmt::format(".SH DESCRIPTION\n{}\n.SH COMMANDS\n", roff(kDescription));
  for (const Command* const command : commands()) text += section_of(*command);
  text += fmt::format(".SH EXIT STATUS\n{}\n", roff(exit_code_note()));
  text += fmt::format(".SH EXAMPLES\n.EX\n{}\n.EE\n", roff(program_example()));
  return text;
}

constinit const Command kMan{
    .name = "man",
    .arguments = "",
    .summary = "the manual page; to read it: laptime man | man -l -",
    .details = "",
    .options = [] { return std::vector<OptionRow>(); },
    .parse = [](const CommandWords& words) -> CommandAction {
      reject_positionals(words);
      return [] {
        write_all(STDOUT_FILENO, man_page(), kStandardOutput);
        return ExitCode::kOk;
      };
    },
};

}  // namespace laptime
