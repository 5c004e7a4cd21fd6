// Text output: escaping for terminals, Markdown and CSV, and layout in terminal columns.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace laptime {

// Receives text in pieces, for text that may not fit in memory.
using TextSink = std::function<void(std::string_view)>;

// The layout of text for people.
struct TextStyle {
  bool unicode = true;  // if false, only ASCII
  size_t width = 0;     // terminal width; 0: no limit
};

// Whether every byte is printable ASCII, as in nearly every cell.
bool is_plain_ascii(std::string_view text);

// Escapes control bytes (C0, DEL, C1), invisible characters and invalid UTF-8: \n, \t, \x1b, \u{202e}. With
// `ascii`, escapes everything outside ASCII too.
std::string printable(std::string_view text, bool ascii = false);

// printable() for a terminal with or without Unicode; our own symbols (±, →, ·) have an ASCII form.
std::string terminal_text(std::string text, bool unicode);

// Escapes the characters that Markdown or HTML would interpret as markup within a line.
std::string markdown_escaped(std::string_view raw);

// A CSV cell (RFC 4180), quoted if necessary. Control bytes are escaped, and text that a spreadsheet would run as a
// formula gets a leading apostrophe.
std::string csv_text(std::string_view raw);
// Like csv_text, for text that cannot be a formula, such as a number.
std::string csv_quoted(std::string_view text);
// Removes the first line from a CSV text and returns its cells. Quoted cells may contain commas, line breaks and
// doubled quotes.
std::vector<std::string> take_csv_line(std::string_view& text);

// The parts of the text between separators; a part may be empty.
std::vector<std::string_view> fields_of(std::string_view text, char separator);

// Terminal columns occupied by valid UTF-8: 0 for combining marks, 2 for wide East Asian characters and emoji.
size_t display_width(std::string_view text);

// Pads the text to `width` columns with spaces on its right or on its left.
std::string pad_right(std::string_view text, size_t width);
std::string pad_left(std::string_view text, size_t width);

std::string without_trailing_spaces(std::string line);
void replace_all(std::string& text, std::string_view from, std::string_view to);

// Cuts text that is wider than `width` columns, and replaces its end with dots.
std::string shortened(std::string_view text, size_t width, bool unicode);

// Breaks a line at spaces so that no line is wider than `width` columns, unless a single word is. 0: no limit. Further
// lines are indented like the first word of the first line, plus `hanging` columns.
std::string broken_at_spaces(std::string_view text, size_t width, size_t hanging = 0);

// A complete line for a terminal: terminal_text() broken at spaces.
std::string wrapped(const std::string& text, const TextStyle& style, size_t hanging = 2);

inline constexpr size_t kColumnGap = 2;  // spaces between the columns of a table

using Cells = std::vector<std::string>;

// Lays out rows after `indent` spaces, in columns that are as wide as their widest cell and two spaces apart. A column
// is right-aligned if its value in `right` is true. Rows may differ in length. Lines have no trailing spaces and end in
// a line break. If the table is wider than `width` (0: no limit), the first column that does not fit is broken at
// spaces, and later columns go below it.
std::string aligned(const std::vector<Cells>& rows, const std::vector<bool>& right = {}, size_t indent = 0,
                    size_t width = 0);

}  // namespace laptime
