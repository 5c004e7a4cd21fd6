// Horizontal bars on a terminal.
#pragma once

#include <span>
#include <string>

#include "report/record_table.h"
#include "table/aligned.h"

namespace laptime {

struct Bar {
  Cells labels;
  double value = 0;   // not negative
  std::string after;  // text behind the bar
};

// A line for each bar; the longest fills what the style's width leaves, at most 48 columns.
std::string bars_text(std::span<const Bar> bars, const TableStyle& style);

}  // namespace laptime
