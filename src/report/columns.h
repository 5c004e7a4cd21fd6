// Columns of records: how names resolve, column sets, the lists accepted by --columns, and --sort.
#pragma once

#include <functional>
#include <memory>
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

namespace laptime {

// The source that a column name refers to: the tag of a metric ("tokens_per_second"), a key of the schema or of the
// configuration ("d_model"), or a dotted path ("time.step.median", "loss.values.0"). Short names and table headers
// resolve to one source ("ctx", "tokens/s", "median (95 % interval)"), or to two joined by '|' ("mfu"), of which the
// first with a value is used. Any other name is returned unchanged, as are derived columns: "predicted", "system" and
// "model".
std::string resolved_column(std::string_view name);

// The canonical spelling of `value` if the column is an option ("bfloat16" for "bf16" of dtype); otherwise `value`.
std::string meant_word(std::string_view column, std::string_view value);

// Reads a column from records; the name is looked up only once.
class ColumnValue {
 public:
  // Takes any name that resolved_column() knows, or a header from a source document's table.
  explicit ColumnValue(std::string_view column);

  Json of(const Record& record) const;       // null if the record has no value
  Json matched(const Record& record) const;  // the value as filters compare it; a list if it has several spellings
  Extent extent() const;                     // the extent of a record that is needed to read the value
  // Whether the name is a header that only tables of the source documents have.
  bool is_of_document() const { return parts_.front().document != nullptr; }

 private:
  struct Part {
    std::string path;
    const Metric* metric;
    std::function<Json(const Record& record, std::string_view phase)> document;  // reads a source document's column
  };
  static Json of_part(const Part& part, const Record& record);

  std::vector<Part> parts_;  // the first part with a value is used
};
Json value_of(const Record& record, std::string_view column);

// Every value in the record's JSON, keyed by its dotted path. Lists of objects (phases, kernels) are omitted.
std::vector<std::pair<std::string, Json>> leaves_of(const Record& record);

// Throws Error unless records can have a column with this name. The message starts with `where` and suggests the
// nearest column. Keys without a fixed schema (in config and machine) are looked up in the records; without records,
// any such key is allowed. `others` are additional names that the caller knows and the user may have meant.
void check_column(std::string_view column, const Records& records, std::string_view where,
                  std::span<const std::string_view> others = {});

// A short name of a column: {"ctx", "config.context_length"}.
struct ShortName {
  std::string_view name;
  std::string_view path;
  std::string_view help = {};  // empty for an option or a column of the default table, which have their own help
};
std::span<const ShortName> short_names();

// The type that the schema gives for a path ("list of object", "number", ...); empty if the path is not in the schema.
std::string schema_type(std::string_view path);

Unit unit_of(std::string_view column);

// One column in a table of records.
struct Column {
  std::string title;               // the name that users write, and the header in files
  std::string shown{};             // the header for people; empty: the title
  Unit unit = Unit::kNone;         // the unit shown to people; files contain the plain number
  bool text = false;               // whether the cells are text, which is left-aligned
  bool of_phase = false;           // has a value for each phase, too
  bool setting = false;            // an option or a name, which identifies the row
  Extent extent = Extent::kWhole;  // extent of a record that `read` needs
  int drop = 0;                    // rank: narrow terminals omit the highest first; 0: never omitted
  size_t width = 6;                // minimum width in a table that is printed incrementally
  // `phase` is empty for the requested pass.
  std::function<Json(const Record& record, std::string_view phase)> read;
  // Formats a cell for people; if null, the value is shown in the column's unit. Without a heading, names are not
  // shortened.
  std::function<std::string(const Record& record, std::string_view phase, const Heading* heading)> text_of{};
  // Half-width of the 95 % interval as a fraction of the value; determines how many digits a cell shows. Null: unknown.
  std::function<std::optional<double>(const Record& record, std::string_view phase)> uncertainty{};
  std::string_view note = {};            // a remark below the table
  std::shared_ptr<Speedups> speedups{};  // baselines of a column that compares rows; null for every other column

  TableCell cell(const Record& record, std::string_view phase, const Heading* heading = nullptr) const;
};

// A named set of columns. Tables from the source documents keep their headers, order and kind of standard deviation.
struct ColumnSet {
  std::string_view name;
  std::string_view alias;   // a second name, after the source document with this table; empty if there is none
  std::string_view help;    // what the table shows
  std::string_view list;    // "NAME@RANK,..."; narrow terminals omit the columns with the highest rank first
  bool has_phases = false;  // the row of a record is followed by rows for its phases
  std::string (*summary)(const Records& records) = nullptr;  // summarizes all rows in a sentence; null: no summary

  std::vector<Column> columns() const;
};
std::span<const ColumnSet> column_sets();
const ColumnSet* find_column_set(std::string_view name);  // by name or alias; null if not found

// A column name, for lists and completion.
struct ColumnWord {
  std::string name;
  std::string unit;  // "-" if none
  std::string help;  // one line
};
// All column names: headers, metrics, short names, options, and the headers of column sets.
std::vector<ColumnWord> column_words();

std::optional<Column> table_column(std::string_view header);

// Parses a comma-separated list of column sets, headers of the default table, "speedup" and "gain" with the ends of
// their intervals ("speedup_low", "speedup_high", "gain_low", "gain_high"), and column names. A column that is listed
// twice appears once, at its first position. Baselines are taken from the records; more can be added to
// Column::speedups. Throws Error for an unknown name (like check_column).
std::vector<Column> columns_of(std::string_view list, const Records& records);

// Columns for CSV and JSON. "default" means the configuration and the main results, with the unit in the header
// ("median_s"); other columns may follow it. `mfu` as in share_peak_by.
std::vector<Column> data_columns(std::string_view list, const Records& records, std::string_view mfu = "mfu");

// Replaces the column mfu, if present, with another metric for the share of peak: mfu_causal or mfu_6n.
void share_peak_by(std::string_view metric, std::vector<Column>& columns, const Records& records);

// The leading default data columns: names, status and options. samples_csv() writes them, too.
std::vector<std::string_view> configuration_columns();

// The line below a table with these columns, and whether they have one. It is empty if the records lack its figures.
bool have_summary(std::string_view list);
std::string summary_of_columns(std::string_view list, const Records& records);

// The extent of a record that a table with these columns reads, at least `least`. kListed includes status and reason.
Extent extent_of_columns(std::span<const Column> columns, Extent least = Extent::kListed);

// Passes a record to the columns that compare rows, as a possible baseline.
void add_baseline(std::span<const Column> columns, const Record& record);
// Whether a row that is compared may arrive before its baseline; such rows can be written only at the end.
bool have_late_baselines(std::span<const Column> columns);
// The baselines in the records. Only Extent::kWhole reads the samples from which intervals are computed.
Speedups speedups_of(const Records& records, Extent extent = Extent::kWithConfig);

// The columns that compare rows: "speedup", "gain" and the ends of their intervals.
std::vector<std::string_view> comparing_columns();
bool compares_rows(std::string_view name);
// The extent of records from which such a column is computed: an end of an interval needs the samples.
Extent compared_extent_of(std::string_view name);
Json compared_value(std::string_view name, const Speedups& speedups, const Record& record);
// "1.5x (1.2-1.7)"; "1x" for the baseline, no interval for predicted times, which have no spread, and "-" if unknown.
std::string speedup_text(const std::optional<Speedup>& speedup);

// ---- --sort: the order of records and of table rows

// `order` is "column[:asc|:desc]"; several are joined by commas, most significant first. Records without a value come
// last, and equal records keep their order. Throws Error for an unknown column or direction.
std::vector<Record> sort_records(std::span<const Record> records, std::string_view order,
                                 bool are_of_one_command = false);

// Like sort_records, but returns positions in `records`.
std::vector<size_t> sorted_positions(const Records& records, std::string_view order);

// Parses "COLUMN", "COLUMN:asc" or "COLUMN:desc", where COLUMN is a key of the table, or a title in any case.
// Throws Error for another direction, and for an unknown column, suggesting the nearest name.
struct TableOrder {
  size_t column = 0;
  bool is_descending = false;

  TableOrder(const Table& table, std::string_view text, bool is_descending_by_default);
};

std::vector<size_t> row_order(const Table& table, const TableOrder& order);
void put_in_order(Table& table, const TableOrder& order);

// The source of the column with this header in any column set; empty if there is none.
std::string_view document_source(std::string_view header);
// The column with this header in any column set. There must be one.
Column document_column(std::string_view header);
Column plain_column(std::string_view name, bool is_text);
// The function that reads a source; column_sets.cpp describes the grammar of sources.
std::function<Json(const Record& record, std::string_view phase)> reader_of(std::string_view source);
Json value_in(const TimeStats& time, std::string_view path);
inline constexpr std::string_view kPopulationNote = "std divides by n (population)";

}  // namespace laptime
