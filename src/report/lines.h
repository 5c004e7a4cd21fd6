// A record as lines of formatted cells, for the table and for Markdown.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/columns.h"

namespace laptime {

struct TableLine {
  std::vector<std::string> cells;  // as many as columns, or fewer where `rest` follows
  std::string rest;                // free text in place of the columns that remain
  bool of_phase = false;
};

// The point's own line and, with `details`, one for each of its phases, and notes on set-up, first steps and warnings.
// Text is not yet escaped.
std::vector<TableLine> lines_of(const Row& row, std::span<const Column> columns, bool details);

}  // namespace laptime
