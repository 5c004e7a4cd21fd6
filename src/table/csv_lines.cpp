// Splits a line into cells.
#include "table/csv_lines.h"

#include <algorithm>

namespace laptime {

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

}  // namespace laptime
