// Widths first, then the rows.
#include "report/aligned.h"

#include <algorithm>

#include "report/text.h"

namespace laptime {

std::string aligned(const std::vector<Cells>& rows, const std::vector<bool>& right, size_t indent) {
  std::vector<size_t> widths;
  for (const Cells& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string text;
  for (const Cells& row : rows) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += std::string(kColumnGap, ' ');
      line += i < right.size() && right[i] ? pad_left(row[i], widths[i]) : pad_right(row[i], widths[i]);
    }
    text += without_trailing_spaces(std::move(line)) + "\n";
  }
  return text;
}

}  // namespace laptime
