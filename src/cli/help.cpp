// Formats the manual page (roff), and help: two columns (options and their meanings), wrapped to the terminal width.
#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/build_id.h"
#include "base/proc_text.h"
#include "base/words.h"
#include "cli/inputs.h"
#include "config/synonyms.h"
#include "table/text.h"

namespace laptime {
namespace {

constexpr size_t kCommandColumn = 13;  // the column at which a command's summary begins

std::string paragraph(std::string_view text, size_t width) { return broken_at_spaces(text, width) + "\n"; }

// The words, then their meaning starting at `column`, or on a new line if the words are too long.
std::string beside(const std::string& words, std::string_view meaning, size_t column, size_t width) {
  const std::string text = broken_at_spaces(std::string(column, ' ') + std::string(meaning), width);
  if (words.size() < column) return words + text.substr(words.size()) + "\n";
  return fmt::format("{}\n{}\n", broken_at_spaces(words, width, 2), text);
}

// Breaks command lines before options, and continues them with a backslash.
std::string command_lines(std::string_view lines, size_t width) {
  constexpr std::string_view kMore = " \\";
  constexpr size_t kHanging = 4;
  std::string text;
  for (std::string_view line : split(lines, '\n')) {
    const size_t indent = std::min(line.find_first_not_of(' '), line.size()) + kHanging;
    size_t used = 0;
    while (used + line.size() > width) {
      const size_t room = width > used + kMore.size() ? width - used - kMore.size() : 0;
      size_t cut = line.rfind(" --", room);
      if (cut == std::string_view::npos || cut < indent) cut = line.find(" --", indent);
      if (cut == std::string_view::npos) break;
      text += fmt::format("{}{}\n{:{}}", line.substr(0, cut), kMore, "", indent);
      line.remove_prefix(cut + 1);
      used = indent;
    }
    text += fmt::format("{}\n", line);
  }
  return text;
}

// Escapes text so that roff prints it unchanged. Hyphens print as ASCII `-`.
std::string roff(std::string_view text) {
  std::string escaped;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) escaped += "\\&";
    begins_line = c == '\n';
    if (c == '\\' || c == '-') escaped += '\\';
    escaped += c == '\\' ? 'e' : c;
  }
  return escaped;
}

std::string roff_bold(std::string_view text) { return fmt::format("\\fB{}\\fR", roff(text)); }

// A term of a manual page, as roff: the first word is literal, the rest a placeholder.
std::string roff_term(std::string_view words) {
  const std::string_view first = words.substr(0, words.find(' '));
  const std::string_view rest = words.substr(std::min(first.size() + 1, words.size()));
  return rest.empty() ? roff_bold(first) : fmt::format("{} \\fI{}\\fR", roff_bold(first), roff(rest));
}

bool is_same_option(const OptionRow& a, const OptionRow& b) {
  return a.option.flag == b.option.flag && a.option.help == b.option.help && a.fallback == b.fallback &&
         a.choices == b.choices;
}

// "also fwd for forward; also train, training for step; ": alternative spellings of the option's values.
std::string synonyms_of(const OptionRow& row) {
  std::vector<std::pair<std::string_view, std::vector<std::string_view>>> by_value;
  for (const Synonym& synonym : synonyms()) {
    if (synonym.flag != row.option.flag) continue;
    if (!row.choices.empty() && !is_among(synonym.meant, row.choices)) continue;
    auto known = std::ranges::find_if(by_value, [&](const auto& one) { return one.first == synonym.meant; });
    if (known == by_value.end()) known = by_value.insert(by_value.end(), {synonym.meant, {}});
    known->second.push_back(synonym.word);
  }
  std::vector<std::string> texts;
  texts.reserve(by_value.size());
  for (const auto& [value, words] : by_value) texts.push_back(fmt::format("{} for {}", joined(words, ", "), value));
  return texts.empty() ? "" : fmt::format("also {}; ", joined(texts, "; "));
}

constexpr std::string_view kProgramSummary =
    "how long one training step of a GPT-style transformer takes, and where the time goes";
constexpr std::string_view kExitCodes =
    "0 success, even if some points are out of memory or unsupported; 1 a point failed or timed out, no point is "
    "supported, or a check did not pass; 2 bad input; 3 a comparison that cannot be judged; 130 interrupted.";

// How help shows a value: "N,...", "X|none", "eager,...", "FILE"; empty for a switch.
std::string value_words(const OptionRow& row) {
  std::string words(row.option.value);
  if (words.empty()) {
    constexpr std::array kOfKinds{"N", "X", "true|false", "NAME"};  // in the order of ValueKind
    words = kOfKinds.at(static_cast<size_t>(row.kind));
    if (row.is_optional) words += fmt::format("|{}", row.option.empty);
  }
  if (row.kind == ValueKind::kSwitch) return row.option.axis ? fmt::format("[{},...]", words) : "";
  return words + (row.option.axis ? ",..." : "");
}

struct Section {
  std::string_view title;
  std::vector<WordHelp> words;
};

std::vector<Section> by_group(const std::vector<OptionRow>& rows) {
  std::vector<Section> sections;
  for (const OptionRow& row : rows) {
    auto section =
        std::ranges::find_if(sections, [&](const Section& known) { return known.title == row.option.group; });
    if (section == sections.end()) section = sections.insert(sections.end(), Section{row.option.group, {}});
    section->words.push_back({fmt::format("--{} {}", row.option.flag, value_words(row)), explanation(row)});
  }
  return sections;
}

std::string flags_of(const Section& section) {
  const auto flag_of = [](const WordHelp& option) { return option.word.substr(0, option.word.find(' ')); };
  return joined(mapped(section.words, flag_of), ", ");
}

struct Sections {
  std::vector<Section> own;     // choices for the first word, and options that the command itself explains
  std::vector<Section> shared;  // options shared with laptime bench, whose help explains them
};

// All options count as the command's own if it shares fewer than kFew with laptime bench, or is laptime bench.
Sections sections_of(const Command& command) {
  constexpr size_t kFew = 8;  // a list of fewer options is short enough to show in full
  std::vector<OptionRow> own, shared;
  const std::vector<OptionRow> bench = &command == &kBench ? std::vector<OptionRow>() : kBench.options();
  for (const OptionRow& row : command.options()) {
    const bool is_shared =
        std::ranges::any_of(bench, [&](const OptionRow& other) { return is_same_option(row, other); });
    (is_shared ? shared : own).push_back(row);
  }
  Sections sections;
  if (command.choices != nullptr)
    sections.own.push_back({command.arguments.substr(0, command.arguments.find(' ')), command.choices()});
  const bool has_few = shared.size() < kFew;
  const std::vector<Section> explained = by_group(has_few ? command.options() : own);
  sections.own.insert(sections.own.end(), explained.begin(), explained.end());
  if (!has_few) sections.shared = by_group(shared);
  return sections;
}

constexpr std::string_view kDescription =
    "Measures one training step of a GPT-style transformer (forward, backward, optimizer) with its own engine, "
    "and reports how long each part takes, how much memory it holds, and how close it comes to the machine's limits. "
    "Results are kept in a store: laptime show prints them again, laptime export converts them for other tools.";

std::string section_of(const Command& command) {
  const Sections sections = sections_of(command);
  std::string text =
      fmt::format(".SS laptime {} {}\n{}\n", command.name, roff(command.arguments), roff(command.summary));
  if (!command.details.empty()) text += fmt::format(".PP\n{}\n", roff(command.details));
  for (const Section& section : sections.own) {
    text += fmt::format(".PP\n{}\n", roff_bold(section.title));
    for (const WordHelp& one : section.words) text += fmt::format(".TP\n{}\n{}\n", roff_term(one.word), roff(one.text));
  }
  const std::vector<std::string> shared = mapped(sections.shared, flags_of);
  if (!shared.empty())
    text +=
        fmt::format(".PP\nOptions shared with {}: {}.\n", roff_bold("laptime bench"), roff_bold(joined(shared, ", ")));
  if (!command.examples.empty()) text += fmt::format(".PP\nExamples:\n.EX\n{}.EE\n", roff(command.examples));
  return text;
}

}  // namespace

std::string_view program_example() {
  return "laptime bench --model small,medium --context 128,256 --dtype float32,bfloat16 --warmup 5 --steps 10";
}

std::string explanation(const OptionRow& row) {
  std::string notes;
  if (!row.choices.empty()) notes += fmt::format("one of {}; ", joined(row.choices, ", "));
  notes += synonyms_of(row);
  if (!row.option.unit.empty()) notes += fmt::format("{}; ", row.option.unit);
  return fmt::format("{} ({}default: {})", row.option.help, notes, row.fallback);
}

std::string program_help(size_t width) {
  std::string text = paragraph(fmt::format("laptime: {}", kProgramSummary), width) + "\nUsage: laptime COMMAND ...\n\n";
  for (const Command* const command : commands())
    text += beside(fmt::format("  {}", command->name), command->summary, kCommandColumn, width);
  return text + "\n  laptime COMMAND --help     list the options of a command\n  laptime --version\n\nExample:\n" +
         command_lines(fmt::format("  {}", program_example()), width) + "\n" +
         paragraph(fmt::format("Exit codes: {}", kExitCodes), width);
}

std::string command_help(const Command& command, size_t width) {
  const Sections sections = sections_of(command);
  constexpr size_t kLeast = 16, kMost = 34;
  const size_t column = std::clamp(width / 3, kLeast, kMost);  // where an option's meaning begins
  std::string text = paragraph(fmt::format("laptime {}: {}", command.name, command.summary), width);
  text +=
      fmt::format("\nUsage: laptime {}{}{}\n", command.name, command.arguments.empty() ? "" : " ", command.arguments);
  if (!command.details.empty()) text += "\n" + paragraph(command.details, width);
  for (const Section& section : sections.own) {
    text += fmt::format("\n{}\n", section.title);
    for (const WordHelp& one : section.words) text += beside("  " + one.word, one.text, column, width);
  }
  if (!sections.shared.empty()) text += "\nShared with laptime bench; see laptime bench --help\n";
  for (const Section& section : sections.shared)
    text += beside(fmt::format("  {}", section.title), flags_of(section), column, width);
  if (!command.examples.empty()) text += "\nExamples\n" + command_lines(command.examples, width);
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

std::string man_page() {
  std::string text = fmt::format(
      ".TH LAPTIME 1 \"\" \"laptime {}\" \"User Commands\"\n"
      ".nh\n.ad l\n"  // do not break words that users type
      ".SH NAME\nlaptime \\- {}\n"
      ".SH SYNOPSIS\n",
      version(), roff(kProgramSummary));
  for (const Command* const command : commands()) {
    const std::string name = fmt::format("laptime {}", command->name);
    text += fmt::format("{} \\fI{}\\fR\n.br\n", roff_bold(name), roff(command->arguments));
  }
  text += fmt::format(".SH DESCRIPTION\n{}\n.SH COMMANDS\n", roff(kDescription));
  for (const Command* const command : commands()) text += section_of(*command);
  text += fmt::format(".SH EXIT STATUS\n{}\n", roff(kExitCodes));
  text += fmt::format(".SH EXAMPLES\n.EX\n{}\n.EE\n", roff(program_example()));
  return text;
}

constinit const Command kMan{
    .name = "man",
    .arguments = "",
    .summary = "print the manual page; to read it: laptime man | man -l -",
    .parse = [](const CommandWords&) { return printing(man_page()); },
};

}  // namespace laptime
