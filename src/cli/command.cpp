// The table of commands, and parsing helpers that several commands share.
#include "cli/command.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/error.h"
#include "base/proc_text.h"
#include "base/words.h"
#include "cli/destination.h"
#include "config/output_config.h"

namespace laptime {

std::span<const Command* const> commands() {
  static constexpr std::array<const Command*, 21> kCommands{
      &kBench,   &kAttention, &kRecord,  &kCompare, &kSelfcheck, &kPlan,       &kCalibrate,
      &kProfile, &kMemory,    &kExplain, &kVerify,  &kDemo,      &kShow,       &kHistory,
      &kReport,  &kExport,    &kImport,  &kList,    &kPoint,     &kCompletion, &kMan};
  return kCommands;
}

CommandAction printing(std::string text) {
  return [text = std::move(text)](const RankPipes&) {
    write_output(text);
    return ExitCode::kOk;
  };
}

const OptionRow* find_row(const std::vector<OptionRow>& rows, std::string_view flag) {
  for (const std::string& name : {std::string(flag), meant_flag(flag)}) {
    for (const OptionRow& row : rows) {
      if (row.option.flag == name) return &row;
    }
  }
  return nullptr;
}

std::vector<OptionRow> output_options(std::string_view flags) {
  std::vector<OptionRow> rows = option_rows<OutputConfig>();
  std::erase_if(rows, [&](const OptionRow& row) { return !is_among(row.option.flag, split(flags, ' ')); });
  return rows;
}

std::vector<OptionRow> without(std::vector<OptionRow> rows, std::string_view flags) {
  std::erase_if(rows, [&](const OptionRow& row) { return is_among(row.option.flag, split(flags, ' ')); });
  return rows;
}

void reject_positionals(const CommandWords& words, size_t taken) {
  if (words.positionals.size() <= taken) return;
  throw Error::format(
      "laptime {}: unexpected {}; write a value after its option, as in --model small, and join several values "
      "by commas without spaces",
      words.command, quote(words.positionals[taken]));
}

size_t chosen(const CommandWords& words, std::string_view noun, const std::vector<WordHelp>& choices) {
  const auto known = mapped<std::string_view>(choices, &WordHelp::word);
  if (words.positionals.empty())
    throw Error::format("laptime {}: no {} given; give one of: {}", words.command, noun, joined(known, ", "));
  const auto found = std::ranges::find(known, words.positionals.front());
  if (found == known.end())
    reject_word(fmt::format("laptime {}", words.command), noun, words.positionals.front(), known);
  return static_cast<size_t>(found - known.begin());
}

double parse_percent(std::string_view where, std::string_view text) {
  double value = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view rest = text.substr(static_cast<size_t>(stop - text.data()));
  const bool is_percent = rest.empty() || rest == "%" || rest == " %";
  if (problem != std::errc() || !is_percent || !(value >= 0 && value <= 100))
    throw Error::format("{}: {} is not a percentage; give 0 to 100, for example 2%", where, quote(text));
  return value / 100;
}

}  // namespace laptime
