// Escapes text, measures its display width, pads, breaks and aligns it, and splits lines of CSV.
#include "table/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <span>

namespace laptime {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Zero width: combining marks and variation selectors (only the Unicode 15 blocks likely in names and messages).
constexpr std::array kZeroWidth{
    Range{0x0300, 0x036F}, Range{0x0483, 0x0489}, Range{0x0591, 0x05BD}, Range{0x0610, 0x061A},  Range{0x064B, 0x065F},
    Range{0x0E31, 0x0E31}, Range{0x0E34, 0x0E3A}, Range{0x0E47, 0x0E4E}, Range{0x1AB0, 0x1AFF},  Range{0x1DC0, 0x1DFF},
    Range{0x20D0, 0x20FF}, Range{0xFE00, 0xFE0F}, Range{0xFE20, 0xFE2F}, Range{0xE0100, 0xE01EF}};
// Two columns wide: East Asian Width W and F, and emoji presentation.
constexpr std::array kWide{
    Range{0x1100, 0x115F},   Range{0x231A, 0x231B},   Range{0x2329, 0x232A},  Range{0x23E9, 0x23EC},
    Range{0x2E80, 0x303E},   Range{0x3041, 0x33FF},   Range{0x3400, 0x4DBF},  Range{0x4E00, 0x9FFF},
    Range{0xA000, 0xA4CF},   Range{0xA960, 0xA97C},   Range{0xAC00, 0xD7A3},  Range{0xF900, 0xFAFF},
    Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},   Range{0xFFE0, 0xFFE6},  Range{0x1F300, 0x1F64F},
    Range{0x1F680, 0x1F6FF}, Range{0x1F900, 0x1F9FF}, Range{0x20000, 0x3FFFD}};
// Invisible, but able to change what is displayed: control characters, soft hyphen, zero-width and direction marks,
// line separators, byte order mark, annotation and tag characters.
constexpr std::array kInvisible{Range{0x00, 0x1F},      Range{0x7F, 0x9F},     Range{0xAD, 0xAD},
                                Range{0x061C, 0x061C},  Range{0x200B, 0x200F}, Range{0x2028, 0x202E},
                                Range{0x2060, 0x206F},  Range{0xFEFF, 0xFEFF}, Range{0xFFF9, 0xFFFB},
                                Range{0xE0000, 0xE007F}};

bool contains(std::span<const Range> ranges, char32_t code) {
  return std::ranges::any_of(ranges, [&](const Range& one) { return one.first <= code && code <= one.last; });
}

struct Decoded {
  char32_t code = 0;
  size_t bytes = 0;  // 0: the next byte does not start a valid sequence
};

Decoded decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {};
  char32_t code = lead & (0x7FU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kSmallest[bytes] || code > 0x10FFFF || surrogate) return {};
  return {code, bytes};
}

bool is_plain(char c) { return c >= 0x20 && c < 0x7F; }

// How rows are broken if the columns together exceed the width.
struct Broken {
  size_t whole = 0;  // number of columns that stay in their normal places
  size_t start = 0;  // terminal column at which the texts of the remaining columns start
};

Broken broken_at(const std::vector<size_t>& widths, size_t indent, size_t width) {
  constexpr size_t kLeast = 24;  // minimum width for broken text; if less is left, the text starts further left
  Broken broken{.whole = 0, .start = indent};
  for (const size_t column : widths) {
    if (width > 0 && broken.start + column > width) break;
    broken.start += column + kColumnGap;
    ++broken.whole;
  }
  if (broken.start + kLeast > width) broken.start = indent + 2 * kColumnGap;
  return broken;
}

}  // namespace

bool is_plain_ascii(std::string_view text) {
  bool all = true;
  for (const char c : text) all &= is_plain(c);  // without an early exit, the compiler vectorises the loop
  return all;
}

std::string printable(std::string_view text, bool ascii) {
  if (is_plain_ascii(text)) return std::string(text);
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto [code, bytes] = decode(text);
    const bool is_invisible = contains(kInvisible, code);
    if (code == '\n') {
      out += "\\n";
    } else if (code == '\t') {
      out += "\\t";
    } else if (bytes == 0 || (code < 0x80 && is_invisible)) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (is_invisible || (ascii && code >= 0x80)) {
      out += fmt::format("\\u{{{:x}}}", static_cast<uint32_t>(code));
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return out;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

std::string terminal_text(std::string text, bool unicode) {
  if (is_plain_ascii(text)) return text;
  if (unicode) return printable(text);
  replace_all(text, "±", "+/-");
  replace_all(text, "→", "->");
  replace_all(text, "·", "-");
  replace_all(text, "…", "..");
  return printable(text, /*ascii=*/true);
}

std::string markdown_escaped(std::string_view raw) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const std::string text = printable(raw);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    // Within a word, an underscore is not markup, and names read better without the escape.
    const bool inside_word = i > 0 && i + 1 < text.size() && is_word(text[i - 1]) && is_word(text[i + 1]);
    const bool is_markup = std::string_view("\\`*[]|~").find(c) != std::string_view::npos;
    if (is_markup || (c == '_' && !inside_word)) out += '\\';
    out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return out;
}

std::string csv_quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string csv_text(std::string_view raw) {
  const std::string text = printable(raw);
  const bool is_formula = !text.empty() && std::string_view("=+-@|%").find(text[0]) != std::string_view::npos;
  return csv_quoted(is_formula ? "'" + text : text);
}

std::vector<std::string> take_csv_line(std::string_view& text) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  size_t at = 0;
  for (; at < text.size() && (quoted || text[at] != '\n'); ++at) {
    const char c = text[at];
    if (quoted && c == '"' && at + 1 < text.size() && text[at + 1] == '"') {
      cells.back() += c;
      ++at;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else if (c != '\r' || quoted) {
      cells.back() += c;
    }
  }
  text.remove_prefix(std::min(text.size(), at + 1));
  return cells;
}

std::vector<std::string_view> fields_of(std::string_view text, char separator) {
  std::vector<std::string_view> fields;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    fields.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return fields;
}

size_t display_width(std::string_view text) {
  if (is_plain_ascii(text)) return text.size();
  size_t width = 0;
  while (!text.empty()) {
    const auto [code, bytes] = decode(text);
    width += contains(kWide, code) ? 2 : contains(kZeroWidth, code) ? 0 : 1;
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return width;
}

std::string pad_right(std::string_view text, size_t width) {
  return std::string(text) + std::string(width - std::min(width, display_width(text)), ' ');
}

std::string pad_left(std::string_view text, size_t width) {
  return std::string(width - std::min(width, display_width(text)), ' ') + std::string(text);
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string shortened(std::string_view text, size_t width, bool unicode) {
  if (display_width(text) <= width) return std::string(text);
  const std::string dots = unicode ? "…" : "..";
  std::string kept(text);
  while (!kept.empty() && display_width(kept) + display_width(dots) > width) {
    while (kept.size() > 1 && (static_cast<unsigned char>(kept.back()) & 0xC0U) == 0x80U) kept.pop_back();
    kept.pop_back();
  }
  return kept + dots;
}

std::string broken_at_spaces(std::string_view text, size_t width, size_t hanging) {
  if (width == 0 || display_width(text) <= width) return std::string(text);
  const size_t leading = std::min(text.find_first_not_of(' '), text.size());
  const size_t indent = leading + hanging;
  std::string lines(leading, ' ');
  size_t used = leading;
  bool starts_line = true;
  for (const std::string_view word : fields_of(text.substr(leading), ' ')) {
    const size_t columns = display_width(word);
    if (!starts_line && used + 1 + columns > width) {
      lines = without_trailing_spaces(std::move(lines)) + "\n" + std::string(indent, ' ');
      used = indent;
      starts_line = true;
    }
    if (!starts_line) {
      lines += ' ';
      ++used;
    }
    lines += word;
    used += columns;
    starts_line = false;
  }
  return without_trailing_spaces(std::move(lines));
}

std::string wrapped(const std::string& text, const TextStyle& style, size_t hanging) {
  return broken_at_spaces(terminal_text(text, style.unicode), style.width, hanging) + "\n";
}

std::string aligned(const std::vector<Cells>& rows, const std::vector<bool>& right, size_t indent, size_t width) {
  std::vector<size_t> widths;
  for (const Cells& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  const Broken broken = broken_at(widths, indent, width);
  std::string text;
  for (const Cells& row : rows) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < std::min(row.size(), broken.whole); ++i) {
      if (i > 0) line += std::string(kColumnGap, ' ');
      line += i < right.size() && right[i] ? pad_left(row[i], widths[i]) : pad_right(row[i], widths[i]);
    }
    for (size_t i = broken.whole; i < row.size(); ++i) {
      if (row[i].empty()) continue;
      const std::string cell = broken_at_spaces(std::string(broken.start, ' ') + row[i], width);
      if (i == broken.whole && display_width(line) + kColumnGap <= broken.start) {
        line = pad_right(line, broken.start) + cell.substr(broken.start);
      } else {
        line = fmt::format("{}\n{}", without_trailing_spaces(std::move(line)), cell);
      }
    }
    text += without_trailing_spaces(std::move(line)) + "\n";
  }
  return text;
}

}  // namespace laptime
