// Text on its way out: safe for a terminal, and measured in columns of a terminal.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace laptime {

// Takes text piece by piece, where it may be too much to hold.
using TextSink = std::function<void(std::string_view)>;

// Whether all of it is shown as it is, a column for each byte, as in nearly every cell.
bool is_plain_ascii(std::string_view text);

// Control bytes (C0, DEL, C1), invisible direction marks and invalid UTF-8 become visible: \n, \t, \x1b, \u{202e}.
// With `ascii` so does everything outside ASCII.
std::string printable(std::string_view text, bool ascii = false);

// The same for a terminal of which it is known whether it shows Unicode: our own signs have an ASCII form.
std::string terminal_text(std::string text, bool unicode);

// Columns that valid UTF-8 takes on a terminal: 0 for combining marks, 2 for wide East Asian characters and emoji.
size_t display_width(std::string_view text);

// Spaces added up to `width` columns, after or before the text.
std::string pad_right(std::string_view text, size_t width);
std::string pad_left(std::string_view text, size_t width);

std::string without_trailing_spaces(std::string line);

// One line broken at spaces so that no line is wider than `width` columns, but where a word is. 0: not broken. Further
// lines begin at the first word of the first line, and `hanging` columns behind it.
std::string broken_at_spaces(std::string_view text, size_t width, size_t hanging = 0);

inline constexpr size_t kColumnGap = 2;  // spaces between the columns of a table

}  // namespace laptime
