// Checks each line of a file, then parses the file with toml++.
#include "config/flat_toml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"

namespace laptime {
namespace {

constexpr std::string_view kBareKey = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

// True if a line begins "key =", where the key is bare or in quotes.
bool starts_with_key(std::string_view line) {
  const bool is_quoted = line[0] == '"' || line[0] == '\'';
  const size_t key_end =
      is_quoted ? line.find(line[0], 1) + 1 : std::min(line.find_first_not_of(kBareKey), line.size());
  const std::string_view rest = line.substr(key_end);
  const size_t sign = rest.find_first_not_of(" \t");
  return key_end > 0 && sign != std::string_view::npos && rest[sign] == '=';
}

// Rejects syntax outside the subset before the text reaches the parser.
class SyntaxCheck {
 public:
  explicit SyntaxCheck(std::string_view name) : name_(name) {}

  void line(std::string_view text) {
    ++number_;
    require_ascii(text);
    const size_t start = text.find_first_not_of(" \t\r");
    if (start == std::string_view::npos) return;
    text.remove_prefix(start);
    if (depth_ == 0 && text[0] != '#' && !starts_with_key(text)) refuse("not of the form 'key = value'");
    char quote = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (quote != 0) {
        if (c == '\\' && quote == '"') ++i;
        if (c == quote) quote = 0;
      } else if (c == '#') {
        return;
      } else if (c == '"' || c == '\'') {
        if (text.substr(i, 3) == std::string(3, c)) refuse("a multi-line string");
        quote = c;
      } else {
        bracket(c);
      }
    }
  }

 private:
  // Outside strings and comments, only ASCII is allowed. Editors and web pages may replace plain characters with
  // look-alikes.
  void require_ascii(std::string_view text) const {
    struct Lookalike {
      std::string_view bytes, name, plain;
    };
    constexpr std::array kLookalikes{Lookalike{"\xC2\xA0", "a no-break space (U+00A0)", "a space"},
                                     Lookalike{"\xE2\x80\xAF", "a narrow no-break space (U+202F)", "a space"},
                                     Lookalike{"\xE3\x80\x80", "an ideographic space (U+3000)", "a space"},
                                     Lookalike{"\xE2\x80\x8B", "a zero-width space (U+200B)", "nothing"},
                                     Lookalike{"\xEF\xBB\xBF", "a byte order mark (U+FEFF)", "nothing"},
                                     Lookalike{"\xE2\x80\x9C", "a curved quote (U+201C)", "\""},
                                     Lookalike{"\xE2\x80\x9D", "a curved quote (U+201D)", "\""},
                                     Lookalike{"\xE2\x80\x98", "a curved quote (U+2018)", "'"},
                                     Lookalike{"\xE2\x80\x99", "a curved quote (U+2019)", "'"},
                                     Lookalike{"\xE2\x88\x92", "a minus sign (U+2212)", "-"},
                                     Lookalike{"\xE2\x80\x93", "a dash (U+2013)", "-"}};
    char quote = 0;
    size_t column = 0;  // of the current character, from 1; counts characters, not bytes
    for (size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      column += (byte & 0xC0U) != 0x80U ? 1 : 0;
      if (quote != 0) {
        if (text[i] == '\\' && quote == '"') {
          ++i;
          ++column;
        } else if (text[i] == quote) {
          quote = 0;
        }
      } else if (text[i] == '#') {
        return;
      } else if (text[i] == '"' || text[i] == '\'') {
        quote = text[i];
      } else if (byte == 0 || byte >= 0x80) {
        const auto* const found = std::find_if(kLookalikes.begin(), kLookalikes.end(), [&](const Lookalike& one) {
          return text.substr(i).starts_with(one.bytes);
        });
        const bool is_known = found != kLookalikes.end();
        throw Error::format("{}:{}:{}: {} outside a string; {}", name_, number_, column,
                            is_known ? std::string(found->name) : fmt::format("the byte 0x{:02X}", byte),
                            is_known ? fmt::format("write {} instead", found->plain)
                                     : "write keys and numbers in ASCII, and save the file as UTF-8");
      }
    }
  }

  void bracket(char c) {
    if (c == '{' || c == '}') refuse("a brace outside a string");
    if (c == '[') ++depth_;
    if (c == ']' && depth_ > 0) --depth_;
  }

  [[noreturn]] void refuse(std::string_view what) const {
    throw Error::format("{}:{}: {}; write each key on a separate line: key = value, or key = [value, value]", name_,
                        number_, what);
  }

  std::string_view name_;
  size_t number_ = 0;
  size_t depth_ = 0;  // number of open arrays
};

// UTF-16 starts with a byte order mark or, without one, has a zero as the first or second byte of ASCII text.
void reject_utf16(std::string_view text, std::string_view name) {
  const bool has_mark = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
  const bool has_zeros = text.size() >= 2 && (text[0] == 0) != (text[1] == 0);
  if (has_mark || has_zeros) throw Error::format("{}:1:1: the file is in UTF-16; save it as UTF-8", name);
}

void check_syntax(std::string_view text, std::string_view name) {
  reject_utf16(text, name);
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) text.remove_prefix(kByteOrderMark.size());
  SyntaxCheck check(name);
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    check.line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// True if line `line` of the text, counted from 1, has a comma between two digits and no '['.
bool is_decimal_comma(std::string_view text, size_t line) {
  for (size_t number = 1; number < line; ++number) text.remove_prefix(std::min(text.find('\n') + 1, text.size()));
  text = text.substr(0, text.find('\n'));
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (size_t i = 1; i + 1 < text.size(); ++i) {
    if (text[i] == ',' && is_digit(text[i - 1]) && is_digit(text[i + 1]))
      return text.find('[') == std::string_view::npos;
  }
  return false;
}

}  // namespace

toml::table parse_flat_toml(std::string_view text, std::string_view name) {
  check_syntax(text, name);
  try {
    return toml::parse(text, name);
  } catch (const toml::parse_error& error) {
    const std::string_view why = error.description();
    const auto& place = error.source().begin;
    std::string remedy;
    if (why.find("could not determine value type") != std::string_view::npos)
      remedy = "; a word needs quotes: key = \"value\"";
    if (is_decimal_comma(text, place.line)) remedy = "; write a decimal point instead of the comma: 35.6e12";
    throw Error::format("{}:{}: {}{}", name, place.line, why, remedy);
  }
}

std::string toml_key(std::string_view key) {
  if (!key.empty() && key.find_first_not_of(kBareKey) == std::string_view::npos) return std::string(key);
  const char mark = key.find('"') == std::string_view::npos ? '"' : '\'';
  return fmt::format("{0}{1}{0}", mark, key);
}

std::vector<TomlEntry> in_file_order(const toml::table& table) {
  std::vector<TomlEntry> entries;
  for (const auto& [key, value] : table) entries.push_back({key.str(), &value, key.source().begin});
  std::sort(entries.begin(), entries.end(),
            [](const TomlEntry& a, const TomlEntry& b) { return a.position < b.position; });
  return entries;
}

}  // namespace laptime
