// Which columns a table has: the default one, those of the source documents, or any by name.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/heading.h"
#include "report/row.h"
#include "report/speedup.h"
#include "table/value_text.h"

namespace laptime {

// What a cell for people depends on beside its value.
struct CellContext {
  const Heading* heading = nullptr;  // null: names are whole
  const Scale* scale = nullptr;      // of all cells of the column; null: of each value its own
};

struct Column {
  std::string title;               // also the name by which it is asked for
  std::string remark{};            // behind the title: "(95 % interval)"
  Unit unit = Unit::kNone;         // how people read it; files get the plain number
  bool text = false;               // flush left
  bool of_phase = false;           // has a value for a single phase too
  bool then_reason = false;        // where a record is not ok, its status and reason take the place of what follows
  bool compares = false;           // with baselines, which must be known
  bool setting = false;            // of what was asked for: rows are told apart by it
  bool of_document = false;        // of a table whose columns a source document chose
  Extent extent = Extent::kWhole;  // how much of a record `read` looks at
  int drop = 0;                    // narrow terminals leave out the highest first; 0 stays
  size_t width = 10;               // what a table that prints as it goes sets aside
  // `phase` is empty for the pass that was asked for.
  std::function<Json(const Row& row, std::string_view phase)> read;
  // The cell as people read it; null: the value in its unit.
  std::function<std::string(const Row& row, std::string_view phase, const CellContext& context)> text_of{};
  size_t bracket_width = 0;       // of "(1.80 .. 1.85)" behind the figures of a cell, beyond `width`; 0: none
  bool bracket_may_go = false;    // where a terminal is narrow, before any column does
  bool marks_predicted = false;   // a predicted row says so in this column
  std::string_view help = {};     // one line for `laptime list columns`
  bool then_notes = false;        // below each row stand its notes: why its verdict is what it is
  bool then_first_steps = false;  // of these only the one on first steps
  std::string_view note = {};     // a sentence that stands below the table

  std::string cell(const Row& row, std::string_view phase, const CellContext& context = {}) const;
  std::string header() const { return remark.empty() ? title : title + " " + remark; }
};

// A set of columns with a name.
struct ColumnSet {
  std::string_view name;
  std::string_view alias;  // the source document whose table it is; empty for none
  std::string_view help;   // what its table shows
  std::vector<Column> (*columns)();
  std::string (*summary)(const Records& records) = nullptr;  // of all rows, in a sentence; null: none
};
// The tables of the source documents keep their headers, order and kind of standard deviation.
std::span<const ColumnSet> column_sets();

// A list joined by commas of column sets, headers of the default table, "speedup" and "gain" with the ends of their
// intervals ("speedup_low", "speedup_high", "gain_low", "gain_high"), and columns by name as `Row::value` knows them.
// A column that the list names twice appears once, at its first place. `baselines` must outlive the result. Error for
// an unknown name (as check_column).
std::vector<Column> columns_of(std::string_view list, const Baselines& baselines, const Records& records);

// The sentence that belongs under a table with these columns; empty for none.
std::string summary_of_columns(std::string_view list, const Records& records);
bool have_summary(std::string_view list);

// How much of each record a report with these columns reads: a row states the status and its reason too, `details`
// more.
Extent extent_of_columns(std::span<const Column> columns, bool details);

// Whether notes stand below the rows: where a column asks for them, and with columns of phases, which have lines there
// anyway.
bool have_notes(std::span<const Column> columns);

// Lets the baselines know all rows where a column compares with them, and names the baseline in its header.
void plan_baselines(std::vector<Column>& columns, const Records& records, Baselines& baselines);

// Adds all records where a column compares with them.
void add_baselines(std::span<const Column> columns, const Records& records, Baselines& baselines);

// The columns that compare rows: "speedup", "gain" and the ends of their intervals.
std::vector<std::string_view> comparing_columns();
bool compares_rows(std::string_view name);
// Its value; null where the row has no baseline.
Json compared_value(std::string_view name, const Baselines& baselines, const Record& record);

// Why a record is not ok: reason, bytes, op and scope; empty for ok.
std::string reason_of(const Record& record);

}  // namespace laptime
