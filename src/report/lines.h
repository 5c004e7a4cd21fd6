// A record as lines of formatted cells, for the table and for Markdown.
#pragma once

#include <optional>
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

struct LineStyle {
  bool details = true;   // lines for the phases, and notes
  bool verbose = false;  // set-up and first steps where they do not matter, too
  const Heading* heading = nullptr;
  const std::vector<std::string>* reasons = nullptr;  // of the verdict, those that the row says; null: all of them
  std::span<const std::optional<Scale>> scales = {};  // of each column, for one unit in all of its cells
};

// The point's own line and, with `details`, one for each of its phases, and notes: on set-up and first steps where they
// matter, and on warnings. Text is not yet escaped.
std::vector<TableLine> lines_of(const Row& row, std::span<const Column> columns, const LineStyle& style);

// The phases that have a line of their own, in the order in which they ran: none of a record whose pass has no time.
std::vector<std::string> shown_phases(const Record& record);

// Puts the column `name` first where the columns show none and some rows of different names have the same settings.
void name_rows(std::vector<Column>& columns, const Heading& heading, const Records& rows);

// Takes out columns that may be left out on a narrow terminal and say the same of every row that ran, and returns what
// they say: "arithmetic bfloat16 autocast". It stands above the table. None of a single row.
std::vector<std::string> take_shared(std::vector<Column>& columns, const Records& rows);

// Makes columns fit for rows that laptime did not measure. Predicted ones: where no column marks them, or where
// measured ones stand beside them and no column names the device, one that does is appended; where all are predicted,
// the columns of the default table that say how good a measurement is go. Rows of steps that another program ran: where
// no column names the row or the system, one that names the system is appended.
void mark_rows(std::vector<Column>& columns, const Heading& heading);

}  // namespace laptime
