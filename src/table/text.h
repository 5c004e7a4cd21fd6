// Text on its way out: escaped for terminals, Markdown and CSV, and measured in columns of a terminal.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace laptime {

// Takes text piece by piece, for text that may not fit into memory.
using TextSink = std::function<void(std::string_view)>;

// How text for people is laid out.
struct TextStyle {
  bool unicode = true;  // otherwise only ASCII
  size_t width = 0;     // of the terminal; 0: no limit
};

// Whether every byte is a printable ASCII character, as in nearly every cell.
bool is_plain_ascii(std::string_view text);

// Control bytes (C0, DEL, C1), invisible direction marks and invalid UTF-8 become visible: \n, \t, \x1b, \u{202e}.
// With `ascii` so does everything outside ASCII.
std::string printable(std::string_view text, bool ascii = false);

// printable() for a terminal with or without Unicode; our own signs (±, →, ·) have an ASCII form.
std::string terminal_text(std::string text, bool unicode);

// Text in which Markdown and HTML find no markup.
std::string markdown_escaped(std::string_view raw);

// A cell of CSV (RFC 4180): quoted where it must be. Control bytes are escaped, and a text that a spreadsheet would run
// as a formula starts with an apostrophe.
std::string csv_text(std::string_view raw);
// The same for text that cannot be a formula, such as a number.
std::string csv_quoted(std::string_view text);

// Columns that valid UTF-8 takes on a terminal: 0 for combining marks, 2 for wide East Asian characters and emoji.
size_t display_width(std::string_view text);

// Spaces added up to `width` columns, after or before the text.
std::string pad_right(std::string_view text, size_t width);
std::string pad_left(std::string_view text, size_t width);

std::string without_trailing_spaces(std::string line);

// Cut to `width` columns, its end replaced by dots.
std::string shortened(std::string_view text, size_t width, bool unicode);

// Breaks a line at spaces so that no line is wider than `width` columns, unless a single word is. 0: not broken.
// Further lines are indented like the first word of the first line, plus `hanging` columns.
std::string broken_at_spaces(std::string_view text, size_t width, size_t hanging = 0);

// A whole line for a terminal: terminal_text() broken at spaces.
std::string wrapped(const std::string& text, const TextStyle& style, size_t hanging = 2);

inline constexpr size_t kColumnGap = 2;  // spaces between the columns of a table

}  // namespace laptime
