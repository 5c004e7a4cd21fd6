// Bars in eighths of a column.
#include "report/bars.h"

#include <algorithm>
#include <array>
#include <vector>

#include "table/text.h"

namespace laptime {
namespace {

constexpr size_t kLongest = 48;  // columns
constexpr size_t kShortest = 8;
constexpr size_t kEighthsOfColumn = 8;

std::string bar_text(double fraction, size_t columns, bool unicode) {
  constexpr std::array kBlocks{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<size_t>(fraction * static_cast<double>(columns * kEighthsOfColumn) + 0.5);
  std::string text;
  for (size_t i = 0; i < eighths / kEighthsOfColumn; ++i) text += unicode ? "█" : "#";
  if (unicode) text += kBlocks.at(eighths % kEighthsOfColumn);
  return text.empty() ? (unicode ? kBlocks[1] : "|") : text;
}

}  // namespace

std::string bars_text(std::span<const Bar> bars, const TableStyle& style) {
  double longest = 0;
  std::vector<size_t> labels;
  size_t after = 0;
  for (const Bar& bar : bars) {
    longest = std::max(longest, bar.value);
    after = std::max(after, display_width(bar.after) + 1);
    labels.resize(std::max(labels.size(), bar.labels.size()));
    for (size_t i = 0; i < bar.labels.size(); ++i) labels[i] = std::max(labels[i], display_width(bar.labels[i]));
  }
  size_t beside = after;  // columns that the bar cannot have
  for (const size_t label : labels) beside += label + kColumnGap;
  const size_t left = style.width > beside + kShortest ? style.width - beside : kShortest;
  const size_t columns = style.width == 0 ? kLongest : std::min(kLongest, left);
  std::vector<Cells> rows;
  for (const Bar& bar : bars) {
    Cells& row = rows.emplace_back(bar.labels);
    row.push_back(bar_text(longest > 0 ? bar.value / longest : 0, columns, style.unicode) + " " + bar.after);
  }
  return aligned(rows);
}

}  // namespace laptime
