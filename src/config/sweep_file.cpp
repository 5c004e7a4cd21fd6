// Reads a TOML file into a Sweep: axes in the order of the file, types checked against the options.
#include "config/sweep_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "base/words.h"
#include "config/option_table.h"
#include "config/run_config.h"

namespace laptime {
namespace {

struct Entry {
  std::string_view key;
  const toml::node* value;
  toml::source_position position;
};

std::vector<Entry> in_file_order(const toml::table& table) {
  std::vector<Entry> entries;
  for (const auto& [key, value] : table) entries.push_back({key.str(), &value, key.source().begin});
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.position < b.position; });
  return entries;
}

OptionRow row_of(std::string_view key, std::string_view where) {
  const std::string flag = meant_flag(key);
  for (auto rows : {option_rows<RunConfig>(), option_rows<OutputConfig>()}) {
    for (OptionRow& row : rows) {
      if (row.option.flag == flag) return std::move(row);
    }
  }
  throw Error::format("{}: unknown key {}{} (laptime list options)", where, quote(key),
                      did_you_mean(key, sweep_flags()));
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
  const bool wants_word = row.kind == ValueKind::kWord;
  if (integer != nullptr && row.kind != ValueKind::kSwitch) return fmt::format("{}", integer->get());
  if (number != nullptr && row.kind == ValueKind::kNumber) return fmt::format("{}", number->get());
  if (flag != nullptr && row.kind == ValueKind::kSwitch) return flag->get() ? "true" : "false";
  if (word != nullptr && (wants_word || (row.is_optional && word->get() == row.option.empty))) return word->get();
  std::string allowed(type_name(row.kind));
  if (row.is_optional) allowed += fmt::format(" or \"{}\"", row.option.empty);
  if (row.option.axis) allowed += ", or an array of them";
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

constexpr std::string_view kBareKey = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

// Whether a line begins "key =".
bool starts_with_key(std::string_view line) {
  const size_t key_end = std::min(line.find_first_not_of(kBareKey), line.size());
  const std::string_view rest = line.substr(key_end);
  const size_t sign = rest.find_first_not_of(" \t");
  return key_end > 0 && sign != std::string_view::npos && rest[sign] == '=';
}

// Accepts the subset of TOML that a sweep file uses: `key = value` lines, and arrays over several lines. Sections,
// braces and multi-line strings must not reach the parser, because toml++ 3.3 has undefined behaviour on some malformed
// ones, such as "[$]" and "a = [}".
class SyntaxCheck {
 public:
  explicit SyntaxCheck(std::string_view name) : name_(name) {}

  void line(std::string_view text) {
    ++number_;
    const size_t start = text.find_first_not_of(" \t\r");
    if (start == std::string_view::npos) return;
    text.remove_prefix(start);
    if (depth_ == 0 && text[0] != '#' && !starts_with_key(text)) refuse("this is not 'key = value'");
    char quote = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (quote != 0) {
        if (c == '\\' && quote == '"') ++i;
        if (c == quote) quote = 0;
      } else if (c == '#') {
        return;
      } else if (c == '"' || c == '\'') {
        if (text.substr(i, 3) == std::string(3, c)) refuse("a string that spans several lines");
        quote = c;
      } else {
        bracket(c);
      }
    }
  }

 private:
  void bracket(char c) {
    if (c == '{' || c == '}') refuse("a brace outside a string");
    if (c == '[') ++depth_;
    if (c == ']' && depth_ > 0) --depth_;
  }

  [[noreturn]] void refuse(std::string_view what) const {
    throw Error::format("{}:{}: {}; give each key a line of its own: key = value, or key = [value, value]", name_,
                        number_, what);
  }

  std::string_view name_;
  size_t number_ = 0;
  size_t depth_ = 0;  // number of open arrays
};

void check_syntax(std::string_view text, std::string_view name) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) text.remove_prefix(kByteOrderMark.size());
  SyntaxCheck check(name);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    check.line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

toml::table parse_toml(std::string_view text, std::string_view name) {
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    throw Error::format("{}:{}: {}", name, error.source().begin.line, error.description());
  }
}

}  // namespace

Sweep parse_sweep(std::string_view text, std::string_view name) {
  if (text.size() > kMaxSweepFileBytes) {
    throw Error::format("{}: larger than {} bytes; give a sweep file, which lists options and their values", name,
                        kMaxSweepFileBytes);
  }
  check_syntax(text, name);
  const toml::table table = parse_toml(text, name);
  Sweep sweep;
  for (const Entry& entry : in_file_order(table)) {
    const std::string line = fmt::format("{}:{}", name, entry.position.line);
    const OptionRow row = row_of(entry.key, line);
    const std::string where = fmt::format("{}: {}", line, entry.key);
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
