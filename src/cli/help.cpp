// Help in two columns, options and what they mean, wrapped to the width of a terminal.
#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/commands/bench.h"
#include "cli/sweep_words.h"
#include "report/aligned.h"

namespace laptime {
namespace {

constexpr size_t kWidth = 110;
constexpr size_t kWordColumn = 34;

// Breaks at spaces; every line after the first starts at column `indent`.
std::string wrap(std::string_view text, size_t indent) {
  const size_t width = kWidth - indent;
  std::string wrapped;
  while (text.size() > width) {
    size_t cut = text.rfind(' ', width);
    if (cut == std::string_view::npos || cut == 0) cut = text.find(' ');
    if (cut == std::string_view::npos) break;
    wrapped += fmt::format("{}\n{:{}}", text.substr(0, cut), "", indent);
    text.remove_prefix(cut + 1);
  }
  return wrapped + std::string(text);
}

std::string lines_of(const std::string& words, std::string_view meaning) {
  const std::string text = wrap(meaning, kWordColumn);
  if (words.size() + 1 < kWordColumn) return fmt::format("{:{}}{}\n", words, kWordColumn, text);
  return fmt::format("{}\n{:{}}{}\n", words, "", kWordColumn, text);
}

bool is_same_option(const OptionRow& a, const OptionRow& b) {
  return a.option.flag == b.option.flag && a.option.help == b.option.help && a.fallback == b.fallback &&
         a.choices == b.choices;
}

std::string option_lines(const OptionRow& row) {
  return lines_of(fmt::format("  --{} {}", row.option.flag, value_words(row)), explanation(row));
}

}  // namespace

std::string_view program_summary() {
  return "how long one training step of a GPT-style transformer takes, and where the time goes";
}

std::string_view program_example() {
  return "laptime bench --model small,medium --context 128,256 --dtype float32,bfloat16 --warmup 5 --steps 10";
}

std::string_view exit_code_note() {
  return "0 points ok, out of memory or unsupported; 1 a point failed or timed out, no point is supported, or a verify "
         "mismatch; 2 bad input; 130 interrupted.";
}

std::string value_words(const OptionRow& row) {
  std::string words(row.option.value);
  if (words.empty()) {
    switch (row.kind) {
      case ValueKind::kInteger: words = "N"; break;
      case ValueKind::kNumber: words = "X"; break;
      case ValueKind::kSwitch: words = "true|false"; break;
      case ValueKind::kWord: words = "NAME"; break;
    }
    if (row.is_optional) words += fmt::format("|{}", row.option.empty);
  }
  if (row.kind == ValueKind::kSwitch) return row.option.axis ? fmt::format("[{},...]", words) : "";
  return words + (row.option.axis ? ",..." : "");
}

std::string explanation(const OptionRow& row) {
  std::string notes;
  if (!row.choices.empty()) notes += fmt::format("one of {}; ", fmt::join(row.choices, ", "));
  if (!row.option.unit.empty()) notes += fmt::format("{}; ", row.option.unit);
  return fmt::format("{} ({}default: {})", row.option.help, notes, row.fallback);
}

std::vector<std::string_view> groups_of(const std::vector<OptionRow>& rows) {
  std::vector<std::string_view> groups;
  for (const OptionRow& row : rows) {
    if (std::find(groups.begin(), groups.end(), row.option.group) == groups.end()) groups.push_back(row.option.group);
  }
  return groups;
}

SplitOptions split_options(const Command& command) {
  constexpr size_t kFew = 8;  // options that a reader finds in a list
  SplitOptions split;
  const std::vector<OptionRow> bench = &command == &kBench ? std::vector<OptionRow>() : kBench.options();
  for (const OptionRow& row : command.options()) {
    const bool is_shared =
        std::any_of(bench.begin(), bench.end(), [&](const OptionRow& other) { return is_same_option(row, other); });
    (is_shared ? split.shared : split.own).push_back(row);
  }
  if (split.shared.size() < kFew) split = {command.options(), {}};
  return split;
}

std::string program_help() {
  std::string text = fmt::format("laptime: {}\n\nUsage: laptime COMMAND ...\n\n", program_summary());
  for (const Command* const command : commands()) {
    text += fmt::format("  {:11}{}\n", command->name, command->summary);
  }
  return text + "\n  laptime COMMAND --help     the options of a command\n  laptime --version\n\n" +
         fmt::format("Example: {}\n\n{}\n", program_example(),
                     wrap(fmt::format("Exit codes: {}", exit_code_note()), 0));
}

std::string command_help(const Command& command) {
  const SplitOptions options = split_options(command);
  std::string text = fmt::format("laptime {}: {}\n\nUsage: laptime {}{}{}\n", command.name, command.summary,
                                 command.name, command.arguments.empty() ? "" : " ", command.arguments);
  if (!command.details.empty()) text += fmt::format("\n{}\n", wrap(command.details, 0));
  if (command.choices != nullptr) {
    text += fmt::format("\n{}\n", command.arguments.substr(0, command.arguments.find(' ')));
    for (const WordHelp& choice : command.choices()) text += lines_of(fmt::format("  {}", choice.word), choice.text);
  }
  for (const std::string_view group : groups_of(options.own)) {
    text += fmt::format("\n{}\n", group);
    for (const OptionRow& row : options.own) {
      if (row.option.group == group) text += option_lines(row);
    }
  }
  if (!options.shared.empty()) text += "\nAs in laptime bench, whose --help explains them\n";
  for (const std::string_view group : groups_of(options.shared)) {
    std::vector<std::string> flags;
    for (const OptionRow& row : options.shared) {
      if (row.option.group == group) flags.push_back(fmt::format("--{}", row.option.flag));
    }
    text += lines_of(fmt::format("  {}", group), fmt::format("{}", fmt::join(flags, ", ")));
  }
  if (!command.examples.empty()) text += fmt::format("\nExamples\n{}", command.examples);
  return text;
}

std::string options_listing(size_t width) {
  std::vector<Cells> lines{{"option", "values", "key", "name tag", "meaning"}};
  for (const OptionRow& row : sweep_options()) {
    lines.push_back({std::string(row.option.flag), value_words(row), std::string(row.option.key),
                     std::string(row.option.axis ? row.option.tag : ""), explanation(row)});
  }
  return aligned(lines, {}, 0, width);
}

}  // namespace laptime
