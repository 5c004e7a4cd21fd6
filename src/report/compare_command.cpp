// Reads the options of a point back from the parts of its name.
#include "report/compare_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "config/option_table.h"
#include "config/run_config.h"

namespace laptime {
namespace {

using Values = std::map<std::string, std::string, std::less<>>;  // by flag

// A word that a shell takes as it is.
bool is_plain_word(std::string_view word) {
  constexpr std::string_view kSigns = "._-+=:%/";
  return !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
    const bool is_digit = c >= '0' && c <= '9';
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return is_digit || is_letter || kSigns.find(c) != std::string_view::npos;
  });
}

// Of the parts "step", "model:small", "ctx:256" the options; empty where one is of no option.
Values values_of(std::string_view name, const std::vector<OptionRow>& rows) {
  Values values;
  bool is_first = true;
  while (!name.empty()) {
    const size_t slash = std::min(name.find('/'), name.size());
    const std::string_view part = name.substr(0, slash);
    name.remove_prefix(std::min(slash + 1, name.size()));
    const size_t colon = part.find(':');
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const OptionRow& one) {
      return is_first ? one.option.in_name == InName::kFirst
                      : colon != std::string_view::npos && one.option.tag == part.substr(0, colon);
    });
    const std::string_view value = is_first ? part : part.substr(std::min(part.size(), colon + 1));
    if (row == rows.end() || !is_plain_word(value)) return {};
    values[std::string(row->option.flag)] = value;
    is_first = false;
  }
  return values;
}

// Options that are in no name, but where a command varied them, and that decide what runs and on what.
void add_unnamed(const NamedPoint& point, Values& values) {
  for (const char* const flag : {"device", "weights", "data"}) {
    const std::string value = point.config.text(flag);
    if (is_plain_word(value) && value != "null") values.try_emplace(flag, value);
  }
}

}  // namespace

std::string compare_command(const NamedPoint& a, const NamedPoint& b) {
  const std::vector<OptionRow> rows = option_rows<RunConfig>();
  Values of_a = values_of(a.name, rows);
  Values of_b = values_of(b.name, rows);
  if (of_a.empty() || of_b.empty()) return "";
  add_unnamed(a, of_a);
  add_unnamed(b, of_b);
  for (const char* const flag : {"warmup", "steps"}) of_a.erase(flag);
  std::string text = "laptime compare";
  for (const OptionRow& row : rows) {
    const auto first = of_a.find(row.option.flag);
    const auto second = of_b.find(row.option.flag);
    if (first == of_a.end() || second == of_b.end()) continue;
    text += fmt::format(" --{} {}", row.option.flag, first->second);
    if (first->second != second->second) text += "," + second->second;
  }
  return text;
}

std::string store_words(std::string_view store) {
  if (store.empty()) return "";
  if (is_plain_word(store)) return fmt::format(" --store {}", store);
  std::string quoted;
  for (const char c : store) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return fmt::format(" --store '{}'", quoted);
}

}  // namespace laptime
