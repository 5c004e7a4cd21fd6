// Columns of records: how names resolve, column sets, the lists accepted by --columns, and --sort.
#pragma once

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

// A column whose values compare two rows, or an end of their interval.
struct RatioColumn {
  std::string_view name;
  std::optional<Speedup> (Speedups::*ratio)(const Record&, std::string_view) const;
  double Interval::*end = nullptr;  // the end of the interval to show; null: the ratio, with its interval for people
};
// "speedup", "gain" and the ends of their intervals.
std::span<const RatioColumn> ratio_columns();

// The source that a column name refers to. A source is the tag of a metric ("tokens_per_second"), a key of the schema
// or of the configuration ("d_model"), a dotted path ("time.step.median", "loss.values.0"), a statistic of a phase's
// time ("forward:mean") or of the row's time (":mean"), or a computed value ("model", "=steps"). A name may stand for
// several sources, joined by '|'; the first with a value is used ("mfu"). Short names ("ctx") and the headers of tables
// ("tokens/s", "median (95 % interval)", "Min (s)") resolve to their sources; other names are returned unchanged.
std::string resolved_column(std::string_view name);

// The canonical spelling of `value` if the column is an option (dtype "bf16": "bfloat16"); otherwise `value`.
std::string meant_word(std::string_view column, std::string_view value);

// A value that is computed from a record.
struct Derived {
  std::string_view name;  // begins with '=' unless users may write it
  Json (*read)(const Record& record, std::string_view phase);
  Extent extent;
};

// Reads a column from records; the name is looked up only once.
class ColumnValue {
 public:
  explicit ColumnValue(std::string_view column);  // a name that resolved_column() knows, or a source

  // `phase` is empty for the requested pass. Null if the record has no value, or if a column that compares rows gets no
  // baselines (`speedups`).
  Json of(const Record& record, std::string_view phase = {}, const Speedups* speedups = nullptr) const;
  // The value as filters compare it; a list if it has several spellings.
  Json matched(const Record& record, const Speedups* speedups = nullptr) const;
  Extent extent() const { return extent_; }            // the extent of a record that is needed to read the value
  const RatioColumn* ratio() const { return ratio_; }  // null unless the column compares rows

 private:
  struct Part {
    std::string path;                // the source or, with a phase, the path within its time
    const Metric* metric = nullptr;  // like `derived`, null for other kinds of sources
    const Derived* derived = nullptr;
    std::optional<std::string> phase = {};  // the time's phase; empty: the phase of the row
  };
  static Json of_part(const Part& part, const Record& record, std::string_view phase);

  const RatioColumn* ratio_;
  Extent extent_ = Extent::kNames;
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
  std::string_view help = {};  // empty: the help of the option, the default table's column or the metric
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
  Extent extent = Extent::kWhole;  // extent of a record that read() needs
  int drop = 0;                    // rank: narrow terminals omit the highest first; 0: never omitted
  size_t width = 6;                // minimum width in a table that is printed incrementally
  ColumnValue value;
  // Formats a cell for people; if null, the value is shown in the column's unit. Without a heading, names are not
  // shortened.
  std::string (*text_of)(const Record& record, std::string_view phase, const Heading* heading) = nullptr;
  // The phase whose uncertainty determines how many digits a cell shows; empty: the phase of the row; none: no phase.
  std::optional<std::string_view> uncertain_phase{};
  std::string_view note = {};            // a remark below the table
  std::shared_ptr<Speedups> speedups{};  // baselines of a column that compares rows; null for every other column

  // `phase` is empty for the requested pass.
  Json read(const Record& record, std::string_view phase) const { return value.of(record, phase, speedups.get()); }
  TableCell cell(const Record& record, std::string_view phase, const Heading* heading = nullptr) const;
};

// A named set of columns. Tables from the source documents keep their headers, order and kind of standard deviation.
struct ColumnSet {
  std::string_view name;
  std::string_view alias;   // a second name, after the source document with this table; empty if there is none
  std::string_view help;    // what the table shows
  std::string_view list;    // "NAME@RANK,..."; narrow terminals omit the columns with the highest rank first
  bool has_phases = false;  // the row of a record is followed by rows for its phases

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

// A column of the default table, or the column for a header that only other column sets have.
std::optional<Column> table_column(std::string_view header);

// Parses a comma-separated list of column sets, headers of the default table, "speedup" and "gain" with the ends of
// their intervals ("speedup_low", "speedup_high", "gain_low", "gain_high"), and column names. A column that is listed
// twice appears once, at its first position. Baselines are taken from the records; more can be added to
// Column::speedups. Throws Error for an unknown name (like check_column).
std::vector<Column> columns_of(std::string_view list, const Records& records);

// Columns for CSV and JSON. "default" means the configuration and the main results, with the unit in the header
// ("median_s"); other columns may follow it. `mfu` is the metric for share_peak_by().
std::vector<Column> data_columns(std::string_view list, const Records& records, std::string_view mfu = "mfu");

// Replaces the column mfu, if present, with another metric for the share of peak: mfu_causal or mfu_6n.
void share_peak_by(std::string_view metric, std::vector<Column>& columns, const Records& records);

// The first default columns of CSV and JSON: names, status and options. samples_csv() writes them, too.
std::vector<std::string_view> configuration_columns();

// Whether a table with these columns has a summary line, and that line; empty if the records lack its figures.
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

// "1.5x (1.2-1.7)", "1x" for the baseline, or "-" if unknown. Predicted times have no spread, hence no interval.
std::string speedup_text(const std::optional<Speedup>& speedup);

// ---- --sort: the order of records and of table rows

// `order` is "column[:asc|:desc]"; several are joined by commas, most significant first. Records without a value come
// last, and equal records keep their order. Throws Error for an unknown column or direction.
std::vector<Record> sort_records(std::span<const Record> records, std::string_view order,
                                 bool are_of_one_command = false);

// Like sort_records, but returns positions in `records`.
std::vector<size_t> sorted_positions(const Records& records, std::string_view order);

// The order of a table's rows by "COLUMN", "COLUMN:asc" or "COLUMN:desc", where COLUMN is a key of the table, or a
// title in any case. Throws Error for another direction, and for an unknown column, suggesting the nearest name.
std::vector<size_t> row_order(const Table& table, std::string_view order, bool is_descending_by_default);

// The source of a column with this header; none if no table has the header.
std::optional<std::string_view> header_source(std::string_view header);
Column plain_column(std::string_view name, bool is_text);
inline constexpr std::string_view kPopulationNote = "std divides by n (population)";

}  // namespace laptime
