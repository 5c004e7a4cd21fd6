// A record seen as a row of named columns: metrics, short names, and dotted paths into its JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "record/metrics.h"
#include "record/record.h"
#include "report/records.h"

namespace laptime {

struct Column;

class Row {
 public:
  explicit Row(const Record& record) : record_(&record) {}

  const Record& record() const { return *record_; }

  // By any name that resolved_column() knows, or the header of a source document's table; null where the record has no
  // such value.
  Json value(std::string_view column) const;

 private:
  const Record* record_;  // outlives the row
};

// What a column is read from: the tag of a metric ("tokens_per_second"), the key of the schema or of the configuration
// ("d_model"), or a dotted path ("time.step.median", "loss.values.0"). Short names and the headers of tables stand for
// one of them ("ctx", "tokens/s", "median (95 % interval)"), or for two, joined by '|', of which the first that is
// known counts ("mfu"). Any other name comes back as it is, and so do those of derived columns.
std::string resolved_column(std::string_view name);

// Columns that stand for no key of a record: "predicted" and "system" (metrics.h), and "model"
// (report/model_name.h).
bool is_derived_column(std::string_view name);

// The word that `value` stands for where the column is an option: "bfloat16" for "bf16" of dtype.
std::string meant_word(std::string_view column, std::string_view value);

// Reads a column from records, its name looked up once.
class ColumnValue {
 public:
  explicit ColumnValue(std::string_view column);

  Json of(const Record& record) const;       // null where the record has none
  Json matched(const Record& record) const;  // what a filter compares: the value, or every word that stands for it
  Extent extent() const;                     // how much of a record has the value

 private:
  struct Part {
    std::string path;
    const Metric* metric;
    const Column* document;  // the column of a source document with this header
  };
  static Json of_part(const Part& part, const Record& record);

  std::vector<Part> parts_;  // the first that is known counts
};

// How much of a record has the value of a column.
Extent extent_of_column(std::string_view column);

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

// For people: "812.4 ms", "2.91 GiB", "61.2 %"; "-" for null. Numbers without a unit with six digits.
std::string format_value(const Json& value, Unit unit);

// The order of two values in a sorted table: numbers before everything else, which is ordered by its text.
bool value_before(const Json& a, const Json& b);

}  // namespace laptime
