// Columns of records: what each reads by its name, the sets of them, the lists that --columns takes, and --sort.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/speedup.h"
#include "base/json.h"
#include "record/metrics.h"
#include "report/names.h"
#include "report/records.h"
#include "table/table.h"
#include "table/value_text.h"

namespace laptime {

// What a column is read from: the tag of a metric ("tokens_per_second"), the key of the schema or of the configuration
// ("d_model"), or a dotted path ("time.step.median", "loss.values.0"). Short names and the headers of tables stand for
// one of them ("ctx", "tokens/s", "median (95 % interval)"), or for two, joined by '|', of which the first that is
// known counts ("mfu"). Any other name comes back as it is, and so do those of derived columns: "predicted", "system"
// and "model".
std::string resolved_column(std::string_view name);

// The word that `value` stands for where the column is an option: "bfloat16" for "bf16" of dtype.
std::string meant_word(std::string_view column, std::string_view value);

// Reads a column from records, its name looked up once.
class ColumnValue {
 public:
  // Any name that resolved_column() knows, or the header of a source document's table.
  explicit ColumnValue(std::string_view column);

  Json of(const Record& record) const;       // null where the record has none
  Json matched(const Record& record) const;  // what a filter compares: the value, or every word that stands for it
  Extent extent() const;                     // how much of a record has the value
  bool is_of_document() const { return parts_.front().document != nullptr; }  // of a header that names nothing else

 private:
  struct Part {
    std::string path;
    const Metric* metric;
    std::function<Json(const Record& record, std::string_view phase)> document;  // a source document's column
  };
  static Json of_part(const Part& part, const Record& record);

  std::vector<Part> parts_;  // the first that is known counts
};
Json value_of(const Record& record, std::string_view column);

// Every value of the record's JSON by its dotted path. Lists of objects (phases, kernels) are left out.
std::vector<std::pair<std::string, Json>> leaves_of(const Record& record);

// Error, starting with `where` and naming the nearest column, unless records can have a column of this name. What is
// free to differ (keys of config and machine) is looked up in the records; with none any name is possible there.
// `others` are names that the caller knows beside the columns, and may have been meant.
void check_column(std::string_view column, const Records& records, std::string_view where,
                  std::span<const std::string_view> others = {});

// Names that stand for another one: {"ctx", "config.context_length"}, ...
struct ShortName {
  std::string_view name;
  std::string_view path;
  std::string_view help = {};  // empty for an option, which says itself what it is
};
std::span<const ShortName> short_names();

// The type that the schema states for a path ("list of object", "number", ...); empty for one that it leaves free.
std::string schema_type(std::string_view path);

Unit unit_of(std::string_view column);

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
  std::function<Json(const Record& record, std::string_view phase)> read;
  // The cell as people read it; null: the value in the unit of the column. Without a heading names are whole.
  std::function<std::string(const Record& record, std::string_view phase, const Heading* heading)> text_of{};
  // Half the 95 % interval as a fraction of the value; it decides how many digits a cell shows. Null: not known.
  std::function<std::optional<double>(const Record& record, std::string_view phase)> uncertainty{};
  std::string_view help = {};  // one line for `laptime list columns`
  std::string_view note = {};  // a sentence for --verbose

  std::string cell(const Record& record, std::string_view phase, const Heading* heading = nullptr) const;
};

// A set of columns with a name. The tables of the source documents keep their headers, order and kind of standard
// deviation.
struct ColumnSet {
  std::string_view name;
  std::string_view alias;   // the source document whose table it is; empty for none
  std::string_view help;    // what its table shows
  std::string_view list;    // "NAME@RANK,..."; narrow terminals leave out the columns of the highest rank first
  bool has_phases = false;  // a row of a record is followed by those of its phases
  std::string (*summary)(const Records& records) = nullptr;  // of all rows, in a sentence; null: none

  std::vector<Column> columns() const;
};
std::span<const ColumnSet> column_sets();
const ColumnSet* find_column_set(std::string_view name);  // by its name or alias; null for none
std::vector<std::string_view> names_in(std::string_view list, char separator = ',');

// A column that has a name of its own, for lists and completion.
struct ColumnWord {
  std::string name;
  std::string unit;  // "-" for none
  std::string help;  // one line
};
// Headers, metrics, short names, options and the headers of the sets.
std::vector<ColumnWord> column_words();

std::vector<Column> table_columns();
std::optional<Column> table_column(std::string_view header);

// A list joined by commas of column sets, headers of the default table, "speedup" and "gain" with the ends of their
// intervals ("speedup_low", "speedup_high", "gain_low", "gain_high"), and columns by name. A column that the list names
// twice appears once, at its first place. `speedups` must outlive the result. Error for an unknown name (as
// check_column).
std::vector<Column> columns_of(std::string_view list, const Speedups& speedups, const Records& records);

// Columns for CSV and JSON. "default" is one column for each figure of a record, its unit in the header ("median_s"),
// in an order that does not change with the records.
std::vector<Column> data_columns(std::string_view list, const Speedups& speedups, const Records& records);

// The names of the options of a row, which samples and records have in common.
std::vector<std::string_view> configuration_columns();

std::string summary_of_columns(std::string_view list, const Records& records);

// How much of each record a table with these columns reads: a row states the status and its reason too.
Extent extent_of_columns(std::span<const Column> columns, Extent least = Extent::kListed);

// Tells `speedups` about all rows if a column compares with them: first what the rows vary, then their times.
void plan_speedups(std::span<const Column> columns, const Records& records, Speedups& speedups);
void add_speedups(std::span<const Column> columns, const Records& records, Speedups& speedups);

// Speed-ups of all records, from their times without samples.
Speedups speedups_of(const Records& records);

// The columns that compare rows: "speedup", "gain" and the ends of their intervals.
std::vector<std::string_view> comparing_columns();
bool compares_rows(std::string_view name);
Json compared_value(std::string_view name, const Speedups& speedups, const Record& record);
// "1.5x (1.2-1.7)"; "1x" for the baseline itself, and the ratio alone of predicted times, which are exact.
std::string speedup_text(const std::optional<Speedup>& speedup);

// ---- --sort: records in the order of some of their columns, and tables in that of one of theirs

// "column[:asc|:desc]", several joined by commas, the first one decides first. Records without a value come last, equal
// ones keep their order. Error for an unknown column or direction.
std::vector<Record> sort_records(std::span<const Record> records, std::string_view order);

// The same as places in the order of `records`: the first one's, the second one's, ...
std::vector<size_t> sorted_positions(const Records& records, std::string_view order);

// Reads "COLUMN", "COLUMN:asc" or "COLUMN:desc", where COLUMN is a key or a title of the table in any letter case.
// Throws Error for another direction, and with the nearest name for an unknown column.
struct TableOrder {
  size_t column = 0;
  bool is_descending = false;

  TableOrder(const Table& table, std::string_view text, bool is_descending_by_default);
};

std::vector<size_t> row_order(const Table& table, const TableOrder& order);
void put_in_order(Table& table, const TableOrder& order);

// Parts of columns by their sources: the source of the column of a set with this header, empty for none, and that
// column; a column by its name alone; the reader of a source, whose grammar stands in column_sets.cpp; and the value at
// a path in a time.
std::string_view document_source(std::string_view header);
Column document_column(std::string_view header);
Column plain_column(std::string_view name, bool is_text);
std::function<Json(const Record& record, std::string_view phase)> reader_of(std::string_view source);
Json value_in(const TimeStats& time, std::string_view path);
inline constexpr std::string_view kPopulationNote = "std divides by n (population)";

}  // namespace laptime
