// A record seen as a row of named columns: metrics, short names, and dotted paths into its JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "record/metrics.h"
#include "record/record.h"
#include "report/records.h"

namespace laptime {

class Row {
 public:
  explicit Row(const Record& record) : record_(&record) {}

  const Record& record() const { return *record_; }

  // By metric tag ("tokens_per_second"), short name ("model", "ctx"), key of the configuration ("d_model") or dotted
  // path ("time.step.median", "loss.values.0"), in this order; null where the record has none.
  Json value(std::string_view column) const;

 private:
  const Record* record_;  // outlives the row
};

// How much of a record has the value of a column.
Extent extent_of_column(std::string_view column);

// Error, starting with `where` and naming the nearest column, unless records can have a column of this name. What is
// free to differ (keys of config and machine) is looked up in the records; with none any name is possible there.
// `others` are names that the caller knows beside the columns, and may have been meant.
void check_column(std::string_view column, const Records& records, std::string_view where,
                  std::span<const std::string_view> others = {});

// Names that stand for a dotted path: {"ctx", "config.context_length"}, ...
struct ShortName {
  std::string_view name;
  std::string_view path;
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
