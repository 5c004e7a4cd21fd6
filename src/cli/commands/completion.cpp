// Prints a script, or what a word could become.
#include "cli/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/words.h"
#include "cli/completion.h"
#include "cli/destination.h"
#include "config/option.h"

namespace laptime {
namespace {

constexpr std::string_view kWhere = "laptime completion";
constexpr std::string_view kWords = "words";

std::vector<WordHelp> completion_choices() {
  std::vector<WordHelp> choices;
  for (const CompletionScript& script : completion_scripts()) {
    choices.push_back(
        {std::string(script.shell), fmt::format("script for {}; in a running shell: {}", script.shell, script.use)});
  }
  choices.push_back({std::string(kWords),
                     "what the last of the words after -- could become: a line for each with its meaning behind a tab, "
                     "and :files where names of files complete it; the scripts ask with it"});
  return choices;
}

std::string requested_text(const CommandWords& words) {
  std::vector<std::string_view> known;
  for (const CompletionScript& script : completion_scripts()) known.push_back(script.shell);
  known.push_back(kWords);
  if (words.positionals.empty()) {
    throw Error::format("{}: which shell? Give one of: {}", kWhere, joined(known, ", "));
  }
  const std::string& name = words.positionals.front();
  if (name == kWords) return completion_lines(completions_of(std::span(words.positionals).subspan(1)));
  reject_positionals(words, 1);
  for (const CompletionScript& script : completion_scripts()) {
    if (script.shell == name) return std::string(script.text);
  }
  reject_word(kWhere, "shell", name, known);
}

}  // namespace

constinit const Command kCompletion{
    .name = "completion",
    .arguments = "SHELL",
    .summary = "completion of options, values and names in bash, zsh and fish",
    .details =
        "Prints the script of a shell. Packages and `cmake --install` put the scripts where the shells look for them.",
    .options = [] { return std::vector<OptionRow>(); },
    .parse = [](const CommandWords& words) -> CommandAction {
      return [text = requested_text(words)] {
        write_all(STDOUT_FILENO, text, kStandardOutput);
        return ExitCode::kOk;
      };
    },
    .choices = completion_choices,
};

}  // namespace laptime
