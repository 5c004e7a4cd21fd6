// Reads a TOML file into a Sweep: axes in file order, with types checked against the options.
#include "config/sweep_file.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <map>
#include <system_error>

#include "base/error.h"
#include "base/words.h"
#include "config/flat_toml.h"
#include "config/option_table.h"
#include "config/run_config.h"

namespace laptime {
namespace {

OptionRow row_of(std::string_view key, std::string_view where) {
  const std::string flag = meant_flag(key);
  for (auto rows : {option_rows<RunConfig>(), option_rows<OutputConfig>()}) {
    for (OptionRow& row : rows) {
      if (row.option.flag == flag) return std::move(row);
    }
  }
  const std::string hint = hint_for("", key);
  throw Error::format("{}: unknown key {}{} (see laptime list options)", where, quote(key),
                      hint.empty() ? did_you_mean(key, sweep_flags()) : hint);
}

std::string_view type_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::kInteger: return "a whole number";
    case ValueKind::kNumber: return "a number";
    case ValueKind::kSwitch: return "true or false";
    case ValueKind::kWord: return "a string";
  }
  return "?";
}

// One value as text for parse_value. A word may also be written as a whole number (edition = 2024).
std::string scalar_text(const toml::node& node, const OptionRow& row, std::string_view where) {
  const auto* const integer = node.as_integer();
  const auto* const number = node.as_floating_point();
  const auto* const flag = node.as_boolean();
  const auto* const word = node.as_string();
  const bool is_time = row.option.unit == "s";  // may have a unit: "5m"
  const bool wants_word = row.kind == ValueKind::kWord || is_time;
  if (integer != nullptr && row.kind != ValueKind::kSwitch) return fmt::format("{}", integer->get());
  if (number != nullptr && row.kind == ValueKind::kNumber) return fmt::format("{}", number->get());
  if (flag != nullptr && row.kind == ValueKind::kSwitch) return flag->get() ? "true" : "false";
  if (word != nullptr && (wants_word || (row.is_optional && word->get() == row.option.empty))) return word->get();
  std::string allowed(is_time ? "seconds or a time such as \"5m\"" : type_name(row.kind));
  if (row.is_optional) allowed += fmt::format(" or \"{}\"", row.option.empty);
  if (row.option.axis || row.option.joins_list) allowed += ", or an array of them";
  std::ostringstream type;
  type << node.type();
  throw Error::format("{}: wrong type {}; give {}", where, type.str(), allowed);
}

std::vector<std::string> texts_of(const toml::node& node, const OptionRow& row, std::string_view where) {
  std::vector<std::string> texts;
  if (const toml::array* const list = node.as_array()) {
    for (const toml::node& element : *list) texts.push_back(scalar_text(element, row, where));
  } else {
    texts.push_back(scalar_text(node, row, where));
  }
  return texts;
}

}  // namespace

Sweep parse_sweep(std::string_view text, std::string_view name) {
  if (text.size() > kMaxSweepFileBytes) {
    throw Error::format("{}: larger than {} bytes; give a sweep file, which lists options and their values", name,
                        kMaxSweepFileBytes);
  }
  const toml::table table = parse_flat_toml(text, name);
  Sweep sweep;
  std::map<std::string_view, TomlEntry> entries;  // by option, because an option has several names
  for (const TomlEntry& entry : in_file_order(table)) {
    const std::string line = fmt::format("{}:{}", name, entry.position.line);
    const OptionRow row = row_of(entry.key, line);
    const std::string where = fmt::format("{}: {}", line, entry.key);
    if (const auto [first, is_new] = entries.try_emplace(row.option.flag, entry); !is_new) {
      throw Error::format("{} sets the same option as {} in line {}; {}", where, first->second.key,
                          first->second.position.line,
                          row.option.axis || row.option.joins_list ? "write all of its values in one list"
                                                                   : "remove one of the two lines");
    }
    set_option(sweep, entry.key, where, texts_of(*entry.value, row, where));
  }
  return sweep;
}

Sweep read_sweep_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxSweepFileBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad() || std::filesystem::is_directory(path)) {
    const std::string reason = std::filesystem::exists(path) ? "cannot be read" : "does not exist";
    throw Error::format("--config: {} {}; give a sweep file in TOML", quote(path.string()), reason);
  }
  text.resize(static_cast<size_t>(file.gcount()));
  Sweep sweep = parse_sweep(text, path.string());
  sweep.name = path.stem().string();
  sweep.file = path.string();
  return sweep;
}

}  // namespace laptime
