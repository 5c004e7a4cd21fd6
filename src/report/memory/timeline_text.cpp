// A bar for each column of the terminal.
#include "report/memory/timeline_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/units.h"
#include "table/text.h"

namespace laptime {
namespace {

constexpr size_t kRows = 12;
constexpr size_t kEighths = 8;
constexpr size_t kWidthWithoutTerminal = 100;
constexpr size_t kLeastColumns = 20;

struct Picture {
  const StepTrace& trace;
  const MemoryLedger& ledger;
  const TableStyle& style;
  size_t columns = 0;
  size_t margin = 0;  // width of the labels at the left
  int64_t top = 1;    // bytes at the upper edge

  size_t begin_of(size_t column) const { return column * ledger.launches() / columns; }
  size_t column_of(size_t launch) const { return std::min(columns - 1, launch * columns / ledger.launches()); }

  // The most bytes held during the launches of a column.
  int64_t held(size_t column) const {
    const size_t begin = begin_of(column);
    const size_t end = std::max(begin + 1, begin_of(column + 1));
    int64_t most = 0;
    for (size_t launch = begin; launch < end; ++launch) most = std::max(most, ledger.held(launch).total());
    return most;
  }

  size_t eighths_of(int64_t bytes) const {
    const double share = static_cast<double>(bytes) / static_cast<double>(top);
    return static_cast<size_t>(std::ceil(share * static_cast<double>(kRows * kEighths) - 1e-9));
  }

  // What fills a row of a column; `row` counts from the bottom.
  std::string cell(size_t row, size_t filled, size_t resident) const {
    constexpr std::array kBlocks{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const size_t below = row * kEighths;
    if (filled <= below) return " ";
    if (below + kEighths / 2 < resident) return style.unicode ? "░" : ".";
    if (!style.unicode) return "#";
    return kBlocks.at(std::min(kEighths, filled - below));
  }

  // The peak at the upper edge, and what lives for the whole run beside its row.
  std::string label(size_t row) const {
    if (row == kRows - 1) return format_bytes(top);
    const size_t resident = eighths_of(ledger.resident());
    const size_t resident_row = resident == 0 ? 0 : (resident - 1) / kEighths;
    if (row == resident_row && row < kRows - 1) return format_bytes(ledger.resident());
    return "";
  }
};

std::string bars(const Picture& picture) {
  std::vector<size_t> filled;
  for (size_t column = 0; column < picture.columns; ++column)
    filled.push_back(picture.eighths_of(picture.held(column)));
  const size_t resident = picture.eighths_of(picture.ledger.resident());
  std::string text;
  for (size_t row = kRows; row-- > 0;) {
    std::string line = pad_left(picture.label(row), picture.margin) + (picture.style.unicode ? " ┤" : " |");
    for (size_t column = 0; column < picture.columns; ++column) line += picture.cell(row, filled[column], resident);
    text += without_trailing_spaces(std::move(line)) + "\n";
  }
  return text;
}

// "├─ forward ────├─ backward ───": each phase begins at its first column.
std::string phase_line(const Picture& picture) {
  const std::string dash = picture.style.unicode ? "─" : "-";
  const std::string corner = picture.style.unicode ? "├" : "|";
  std::string line = pad_left("", picture.margin + 1);
  const std::vector<Section> sections = picture.ledger.sections();
  size_t column = 0;
  for (size_t i = 0; i < sections.size(); ++i) {
    const size_t end = i + 1 < sections.size() ? picture.column_of(sections[i + 1].first) + 1 : picture.columns + 1;
    if (end <= column) continue;
    std::string title = fmt::format(" {} ", sections[i].title);
    if (title.size() + 2 > end - column) title.clear();
    line += corner;
    size_t used = 1;
    if (!title.empty()) {
      line += dash + title;
      used += 1 + title.size();
    }
    for (; used < end - column; ++used) line += dash;
    column = end;
  }
  return line + "\n";
}

// An arrow below the column of the peak, and where it is.
std::string peak_line(const Picture& picture) {
  const size_t column = picture.column_of(picture.ledger.peak_launch());
  const std::string arrow = picture.style.unicode ? "▲" : "^";
  const std::string text = fmt::format("peak: {}", launch_text(picture.trace, picture.ledger.peak_launch()));
  const bool fits_right = column + 2 + text.size() <= picture.columns;
  const bool fits_left = text.size() + 1 <= column;
  std::string line = pad_left("", picture.margin + 2);
  if (fits_right || !fits_left) {
    line += pad_left("", column) + arrow + (fits_right ? " " + text : "");
    return fits_right ? line + "\n" : line + "\n" + pad_left("", picture.margin + 2) + text + "\n";
  }
  return line + pad_left(text, column - 1) + " " + arrow + "\n";
}

}  // namespace

std::string timeline_text(const StepTrace& trace, const MemoryLedger& ledger, const TableStyle& style) {
  Picture picture{trace, ledger, style};
  picture.top = std::max<int64_t>(1, ledger.peak().total());
  picture.margin = std::max(format_bytes(picture.top).size(), format_bytes(ledger.resident()).size());
  const size_t width = style.width > 0 ? style.width : kWidthWithoutTerminal;
  picture.columns = std::max(kLeastColumns, width > picture.margin + 3 ? width - picture.margin - 3 : 0);
  std::string text = bars(picture) + phase_line(picture) + peak_line(picture);
  text += fmt::format("{} whole run  {} this step  ({} launches from left to right)\n", style.unicode ? "░" : ".",
                      style.unicode ? "█" : "#", ledger.launches());
  return text;
}

}  // namespace laptime
