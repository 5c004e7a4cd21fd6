// Determines column widths, then formats the rows.
#include "table/aligned.h"

#include <fmt/format.h>

#include <algorithm>

#include "table/text.h"

namespace laptime {
namespace {

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
