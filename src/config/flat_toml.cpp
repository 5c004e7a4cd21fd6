// Checks each line before toml++ sees it.
#include "config/flat_toml.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace laptime {
namespace {

constexpr std::string_view kBareKey = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

// Whether a line begins "key =".
bool starts_with_key(std::string_view line) {
  const size_t key_end = std::min(line.find_first_not_of(kBareKey), line.size());
  const std::string_view rest = line.substr(key_end);
  const size_t sign = rest.find_first_not_of(" \t");
  return key_end > 0 && sign != std::string_view::npos && rest[sign] == '=';
}

// Lets nothing but the subset reach the parser.
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

}  // namespace

toml::table parse_flat_toml(std::string_view text, std::string_view name) {
  check_syntax(text, name);
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    const std::string_view why = error.description();
    const bool is_bare_word = why.find("could not determine value type") != std::string_view::npos;
    throw Error::format("{}:{}: {}{}", name, error.source().begin.line, why,
                        is_bare_word ? "; a word needs quotes: key = \"value\"" : "");
  }
}

std::vector<TomlEntry> in_file_order(const toml::table& table) {
  std::vector<TomlEntry> entries;
  for (const auto& [key, value] : table) entries.push_back({key.str(), &value, key.source().begin});
  std::sort(entries.begin(), entries.end(),
            [](const TomlEntry& a, const TomlEntry& b) { return a.position < b.position; });
  return entries;
}

}  // namespace laptime
