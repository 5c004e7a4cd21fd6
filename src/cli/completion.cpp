// Completes words from the tables of commands and options, and prints the completion scripts for shells.
#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/proc_text.h"
#include "config/known_models.h"
#include "config/machine.h"
#include "config/model_presets.h"
#include "config/ready_sweeps.h"
#include "model/gpt/editions.h"
#include "prepare/device.h"
#include "prepare/step_graph.h"
#include "report/columns.h"

namespace laptime {

namespace {

using Words = std::vector<WordHelp>;

template <class Model>
std::string size_text(const Model& model) {
  return fmt::format("{} layers, {} heads", model.num_layers, model.num_heads);
}

Words model_words() {
  Words words = words_of(model_presets(), &ModelPreset::name, [](const ModelPreset& model) {
    return model.name == kAttentionModel ? "scaled dot product attention only" : size_text(model);
  });
  std::ranges::move(words_of(known_models(), &KnownModel::name, size_text<KnownModel>), std::back_inserter(words));
  words.push_back({std::string(kCustomModel), "dimensions that you choose"});
  return words;
}

Words edition_words() {
  const auto name = [](const GptEdition& edition) { return name_of(edition.edition); };
  return words_of(gpt_editions(), name, &GptEdition::about);
}

Words sweep_words() { return words_of(ready_sweeps(), &ReadySweep::name, &ReadySweep::about); }

// All devices, described machines without their prefix; then the machines again, with the prefix.
Words device_words() {
  Words words{{"auto"}};
  Words prefixed;
  for (const DeviceSummary& device : list_devices()) {
    const bool is_machine = device.name.starts_with(kMachinePrefix);
    const std::string text = device.text();
    const std::string meaning = is_machine ? text.substr(0, text.find(':')) : text;
    words.push_back({is_machine ? device.name.substr(kMachinePrefix.size()) : device.name, meaning});
    if (is_machine) prefixed.push_back({device.name, meaning});
  }
  words.insert(words.end(), prefixed.begin(), prefixed.end());
  return words;
}

Words composite_words() { return words_of(composites()); }

Words columns_words() {
  Words words = words_of(column_sets(), &ColumnSet::name, &ColumnSet::help);
  for (WordHelp& column : named_columns()) words.push_back(std::move(column));
  return words;
}

// An option whose values are names that are not in a fixed table of choices.
struct NamesOfOption {
  std::string_view flag;
  Words (*words)();
  bool files = false;  // file names are accepted too
};

constexpr std::array kNames{NamesOfOption{"model", model_words},        NamesOfOption{"edition", edition_words},
                            NamesOfOption{"config", sweep_words, true}, NamesOfOption{"device", device_words, true},
                            NamesOfOption{"keep", composite_words},     NamesOfOption{"lower", composite_words},
                            NamesOfOption{"columns", columns_words},    NamesOfOption{"sort", named_columns}};

void append(Completions& completions, Completions more) {
  std::move(more.words.begin(), more.words.end(), std::back_inserter(completions.words));
  completions.files = completions.files || more.files;
}

Completions values_of(const OptionRow& row) {
  Completions values;
  for (const NamesOfOption& names : kNames) {
    if (names.flag == row.option.flag) values = {names.words(), names.files};
  }
  for (const std::string_view choice : row.choices) values.words.push_back({std::string(choice)});
  if (row.kind == ValueKind::kSwitch) append(values, {.words = {{"true"}, {"false"}}});
  append(values, words_of_placeholder(row.option.value));
  if (row.is_optional) values.words.push_back({std::string(row.option.empty)});
  return values;
}

// Completes the last value of the list `text`; the completed words begin with `lead`. Does not offer a value that the
// list already has.
Completions list_values(const OptionRow& row, std::string_view lead, std::string_view text) {
  std::string joiners;  // the characters that join several values
  if (row.option.axis || row.option.value.ends_with(",...")) joiners += ',';
  if (row.option.value.find('+') != std::string_view::npos) joiners += '+';
  std::set<std::string_view> given;
  size_t begin = 0;
  for (size_t end = 0; (end = text.find_first_of(joiners, begin)) != std::string_view::npos; begin = end + 1)
    given.insert(text.substr(begin, end - begin));
  Completions values = values_of(row);
  std::erase_if(values.words, [&](const WordHelp& value) { return given.contains(value.word); });
  for (WordHelp& value : values.words) value.word = fmt::format("{}{}{}", lead, text.substr(0, begin), value.word);
  return values;
}

// Completes a word of a filter "COLUMN OP VALUE and ...": column names at the start and after `and`, `or` and `not`;
// after an operator, the values of that column's option.
Completions filter_words(const Command& command, std::span<const std::string> before) {
  constexpr std::array<std::string_view, 4> kJoining{"and", "or", "not", "("};
  constexpr std::array<std::string_view, 8> kOperators{"=", "==", "!=", "<", "<=", ">", ">=", "~"};
  if (before.empty() || is_among(before.back(), kJoining)) return {.words = command.filter_columns()};
  if (before.size() < 2 || !is_among(before.back(), kOperators)) return {};
  const std::vector<OptionRow> rows = option_rows<RunConfig>();
  const OptionRow* const row = find_row(rows, before[before.size() - 2]);
  return {.words = row == nullptr ? Words() : values_of(*row).words};
}

// Completes a positional word: "models|editions|...", "FORMAT", "FILE.safetensors...", "[FILTER]", "[FILTER|SWEEP]".
Completions positional_words(const Command& command, const std::vector<std::string>& before) {
  std::vector<std::string_view> shapes = split(command.arguments, ' ');
  std::erase(shapes, "[OPTIONS]");
  const size_t index = before.size();
  if (shapes.empty()) return {};
  const size_t last = shapes.size() - 1;
  if (index >= last && command.filter_columns != nullptr) {
    Completions words = filter_words(command, std::span(before).subspan(last));
    if (index == last && shapes[last].find("|SWEEP") != std::string_view::npos) append(words, {sweep_words(), true});
    return words;
  }
  if (index > last && !shapes[last].ends_with("...")) return {};
  Completions words;
  if (index == 0 && command.choices != nullptr) words.words = command.choices();
  append(words, words_of_placeholder(shapes[std::min(index, last)]));
  return words;
}

Words option_words(const std::vector<OptionRow>& rows, const CommandWords& before) {
  Words words;
  for (const OptionRow& row : rows) {
    const bool is_given =
        std::ranges::any_of(before.flags, [&](const GivenFlag& given) { return given.flag == row.option.flag; });
    if (!is_given) words.push_back({fmt::format("--{}", row.option.flag), std::string(row.option.help)});
  }
  words.push_back({"--help", "list the options of the command"});
  return words;
}

Completions of_command(const Command& command, std::span<const std::string> words) {
  const std::string_view text = words.back();
  const std::vector<OptionRow> rows = command.options();
  const CommandWords before = split_words(command, {words.begin(), words.end() - 1});
  if (before.unfinished) return list_values(*before.unfinished, "", text);
  Completions options{.words = option_words(rows, before)};
  if (text.starts_with("-") && !before.options_ended) {
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) return options;
    const OptionRow* const row = equals > 2 ? find_row(rows, text.substr(2, equals - 2)) : nullptr;
    if (row == nullptr) return {};
    return list_values(*row, text.substr(0, equals + 1), text.substr(equals + 1));
  }
  Completions completions = positional_words(command, before.positionals);
  const bool has_none = completions.words.empty() && !completions.files;
  return has_none && text.empty() && !before.options_ended ? options : completions;
}

// All words that are possible at the cursor, regardless of the letters that are already there.
Completions possible_words(std::span<const std::string> words) {
  constexpr std::string_view kHelp = "help";
  Completions first{.words = words_of(commands(), &Command::name, &Command::summary)};
  if (words.size() == 1) {
    append(first, {.words = {{std::string(kHelp), "list the options of a command"}}});
    if (!words[0].starts_with("-")) return first;
    return {.words = {{"--help", "list the commands"}, {"--version", "print the version and build"}}};
  }
  if (words[0] == kHelp) return words.size() == 2 ? first : Completions{};
  for (const Command* const command : commands()) {
    if (command->name == words[0]) return of_command(*command, words.subspan(1));
  }
  return {};
}

std::vector<WordHelp> completion_choices() {
  return {{"bash", "script for bash; in a running shell: source <(laptime completion bash)"},
          {"zsh", "script for zsh; in a running shell: source <(laptime completion zsh)"},
          {"fish", "script for fish; in a running shell: laptime completion fish | source"},
          {"words",
           "used by the scripts: takes -- and the words of a command line, and prints completions of the last word, "
           "one per line with a tab before the description, and a line :files if file names complete it too"}};
}

CommandAction parse_completion(const CommandWords& words) {
  const std::span<const std::string_view> scripts = completion_scripts();
  const size_t choice = chosen(words, "shell", completion_choices());
  if (choice == scripts.size())
    return printing(completion_lines(completions_of(std::span(words.positionals).subspan(1))));
  reject_positionals(words, 1);
  return printing(std::string(scripts[choice]));
}

}  // namespace

Completions completions_of(std::span<const std::string> words) {
  if (words.empty()) return {};
  Completions completions = possible_words(words);
  std::set<std::string> seen;
  std::erase_if(completions.words, [&](const WordHelp& one) {
    return !one.word.starts_with(words.back()) || one.word.empty() || !seen.insert(one.word).second;
  });
  return completions;
}

std::string completion_lines(const Completions& completions) {
  std::string lines;
  for (const WordHelp& one : completions.words) {
    lines += one.text.empty() ? fmt::format("{}\n", one.word) : fmt::format("{}\t{}\n", one.word, one.text);
  }
  return lines + (completions.files ? ":files\n" : "");
}

Completions words_of_placeholder(std::string_view placeholder) {
  Completions found;
  for (const std::string_view part : split(placeholder, '|')) {
    if (part.starts_with("FILE")) found.files = true;
    const auto* const capital = std::ranges::find_if(part, [](char c) { return c >= 'A' && c <= 'Z'; });
    const std::string word(part.begin(), capital);
    const bool names_itself = !word.empty() && word.find_first_of("[{") == std::string::npos;
    if (names_itself) found.words.push_back({word});
  }
  return found;
}

constinit const Command kCompletion{
    .name = "completion",
    .arguments = "SHELL",
    .summary = "print completion scripts for bash, zsh and fish",
    .details =
        "Prints the completion script for a shell. Packages and `cmake --install` put the scripts where shells look "
        "for them.",
    .parse = parse_completion,
    .choices = completion_choices,
};

}  // namespace laptime
