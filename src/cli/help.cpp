// Texts of help: one column of words, one of explanations, wrapped to the width of a terminal.
#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/command_options.h"
#include "config/attention_sweep.h"
#include "config/output_config.h"
#include "config/run_config.h"

namespace laptime {
namespace {

constexpr size_t kWidth = 110;
constexpr size_t kWordColumn = 34;

template <class Config>
void append_rows(std::vector<OptionRow>& rows, std::string_view only_group = {}) {
  for (OptionRow& row : option_rows<Config>()) {
    if (only_group.empty() || row.option.group == only_group) rows.push_back(std::move(row));
  }
}

std::vector<OptionRow> sweep_rows() {
  std::vector<OptionRow> rows;
  append_rows<RunConfig>(rows);
  append_rows<SweepSource>(rows);
  append_rows<OutputConfig>(rows);
  return rows;
}

// The options of `laptime attention`: those that mean something to it, with the values that it starts from.
std::vector<OptionRow> attention_rows() {
  std::vector<OptionRow> rows;
  const Sweep defaults = attention_sweep();
  for (OptionRow& row : option_rows<RunConfig>()) {
    if (!row.option.of_attention || row.option.flag == "model") continue;
    for (const Axis& axis : defaults.axes) {
      if (axis.flag == row.option.flag) row.fallback = fmt::format("{}", fmt::join(axis.values, ","));
    }
    rows.push_back(std::move(row));
  }
  append_rows<SweepSource>(rows);
  append_rows<OutputConfig>(rows);
  for (OptionRow& row : rows) {
    if (row.option.flag == "columns") row.fallback = defaults.output.columns;
  }
  return rows;
}

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

// How a value is written: "N,...", "X|none", "eager,...", "FILE".
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

std::string option_lines(const OptionRow& row) {
  const std::string words = fmt::format("  --{} {}", row.option.flag, value_words(row));
  const std::string text = wrap(explanation(row), kWordColumn);
  if (words.size() + 1 < kWordColumn) return fmt::format("{:{}}{}\n", words, kWordColumn, text);
  return fmt::format("{}\n{:{}}{}\n", words, "", kWordColumn, text);
}

// The groups in the order in which they first appear.
std::vector<std::string_view> groups_of(const std::vector<OptionRow>& rows) {
  std::vector<std::string_view> groups;
  for (const OptionRow& row : rows) {
    if (std::find(groups.begin(), groups.end(), row.option.group) == groups.end()) groups.push_back(row.option.group);
  }
  return groups;
}

}  // namespace

std::vector<CommandText> command_texts() {
  std::vector<OptionRow> explain;
  append_rows<ExplainOptions>(explain);
  for (OptionRow& row : sweep_rows()) explain.push_back(std::move(row));
  std::vector<OptionRow> verify;
  append_rows<RunConfig>(verify);
  std::erase_if(verify, [](const OptionRow& row) { return !row.option.of_engine; });
  std::vector<OptionRow> show;
  append_rows<OutputConfig>(show, kOutput);
  return {
      {"bench", "[OPTIONS]", "measure training steps: one row per point of a sweep",
       "Options written with ',...' take a list, and the sweep is the product of the lists. Each point runs in a "
       "process "
       "of its own and is stored before the next one starts.",
       sweep_rows()},
      {"attention", "[OPTIONS]", "attention alone: time and memory of forward and backward, for any width and length",
       "Softmax(q k^T / sqrt(d)) v of one head, q, k, v [batch, 1, context, d-model]; backward starts from a gradient "
       "of ones. --mode eager runs one primitive at a time and holds the scores and their softmax; --mode compile is "
       "one blocked kernel that holds neither; --mode compile --lower scaled_dot_product_attention lies between them: "
       "two products with a fused softmax, its weights held. Memory is that of the plan, in exact bytes: what does not "
       "fit is a row that says so before anything is tried, and the smallest one is worked out below the table. All "
       "else is as in laptime bench --model attention.",
       attention_rows()},
      {"explain", "[OPTIONS]", "what bench would run: parameters, FLOPs, bytes, passes, kernels chosen and refused",
       "Takes the options of bench.", std::move(explain)},
      {"verify", "FILE.safetensors... [OPTIONS]", "our engine against stored PyTorch values", "", std::move(verify)},
      {"show", "[FILTER] [OPTIONS]", "stored records as a table again",
       "FILTER is 'column OP value', joined by 'and' and 'or': laptime show \"model = small and ctx >= 256\"",
       std::move(show)},
      {"list", "models|devices|kernels|metrics|options", "what there is to choose from", "", {}},
  };
}

std::string program_help() {
  std::string text =
      "laptime: how long one training step of a GPT-style transformer takes, and where the time goes\n\n"
      "Usage: laptime COMMAND ...\n\n";
  for (const CommandText& command : command_texts()) {
    text += fmt::format("  {:11}{}\n", command.name, command.summary);
  }
  return text +
         "\n  laptime COMMAND --help     the options of a command\n"
         "  laptime --version\n\n"
         "Example: laptime bench --model small,medium --context 128,256 --dtype float32,bfloat16 --warmup 5 --steps "
         "10\n\n"
         "Exit codes: 0 all points ok, out of memory or unsupported; 1 a point failed or timed out, or a verify "
         "mismatch;\n"
         "2 bad input; 130 interrupted.\n";
}

std::string command_help(const CommandText& command) {
  std::string text = fmt::format("laptime {}: {}\n\nUsage: laptime {} {}\n", command.name, command.summary,
                                 command.name, command.arguments);
  if (!command.details.empty()) text += fmt::format("\n{}\n", wrap(command.details, 0));
  for (const std::string_view group : groups_of(command.options)) {
    text += fmt::format("\n{}\n", group);
    for (const OptionRow& row : command.options) {
      if (row.option.group == group) text += option_lines(row);
    }
  }
  return text;
}

std::string options_listing() {
  std::string text = fmt::format("{:14} {:20} {:16} {:13} {}\n", "option", "values", "key", "name tag", "meaning");
  for (const OptionRow& row : sweep_rows()) {
    text += fmt::format("{:14} {:20} {:16} {:13} {}\n", row.option.flag, value_words(row), row.option.key,
                        row.option.axis ? row.option.tag : "", explanation(row));
  }
  return text;
}

}  // namespace laptime
