// Which columns a table has: the default one, those of the source documents, or any by name.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/speedup.h"
#include "base/json.h"
#include "report/heading.h"
#include "report/row.h"
#include "table/value_text.h"

namespace laptime {

// Context of a cell for people.
struct CellContext {
  const Heading* heading = nullptr;  // null: names are whole
};

// A column of a table of records.
struct Column {
  std::string title;               // the name by which it is asked for, and its header in files
  std::string shown{};             // its header for people; empty: the title
  Unit unit = Unit::kNone;         // how people read it; files get the plain number
  bool text = false;               // flush left
  bool of_phase = false;           // has a value for a single phase too
  bool compares = false;           // with baselines, which must be known
  bool setting = false;            // an option: rows are told apart by it
  Extent extent = Extent::kWhole;  // how much of a record `read` looks at
  int drop = 0;                    // narrow terminals leave out the highest first; 0 stays
  size_t width = 6;                // at least, in a table that is printed as it grows
  // `phase` is empty for the pass that was asked for.
  std::function<Json(const Row& row, std::string_view phase)> read;
  // The cell as people read it; null: the value in the unit of the column.
  std::function<std::string(const Row& row, std::string_view phase, const CellContext& context)> text_of{};
  // Half the 95 % interval as a fraction of the value, which rounds it; null: not known.
  std::function<std::optional<double>(const Row& row, std::string_view phase)> uncertainty{};
  std::string_view help = {};  // one line for `laptime list columns`
  std::string_view note = {};  // a sentence for --verbose

  std::string cell(const Row& row, std::string_view phase, const CellContext& context = {}) const;
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
// A column that the list names twice appears once, at its first place. `speedups` must outlive the result. Error for an
// unknown name (as check_column).
std::vector<Column> columns_of(std::string_view list, const Speedups& speedups, const Records& records);

// Columns for CSV and JSON. "default" is one column for each figure of a record, its unit in the header ("median_s"),
// in an order that does not change with the records.
std::vector<Column> data_columns(std::string_view list, const Speedups& speedups, const Records& records);

// The options of a row, which samples and records have in common.
struct DataColumn {
  std::string_view header;  // "median_s"
  std::string_view column;  // as Row::value knows it
};
std::span<const DataColumn> configuration_columns();

// The sentence that belongs under a table with these columns; empty for none.
std::string summary_of_columns(std::string_view list, const Records& records);

// How much of each record a table with these columns reads: a row states the status and its reason too.
Extent extent_of_columns(std::span<const Column> columns);

// Tells `speedups` about all rows if a column compares with them.
void plan_speedups(std::span<const Column> columns, const Records& records, Speedups& speedups);
void add_speedups(std::span<const Column> columns, const Records& records, Speedups& speedups);

// The columns that compare rows: "speedup", "gain" and the ends of their intervals.
std::vector<std::string_view> comparing_columns();
bool compares_rows(std::string_view name);
// Its value; null where the row has no baseline.
Json compared_value(std::string_view name, const Speedups& speedups, const Record& record);
// "1.5x (1.2-1.7)"; "1x" for the baseline itself, and the ratio alone of predicted times, which are exact.
std::string speedup_text(const std::optional<Speedup>& speedup);

// Why a record is not ok: reason, bytes, op and scope; empty for ok.
std::string reason_of(const Record& record);

}  // namespace laptime
