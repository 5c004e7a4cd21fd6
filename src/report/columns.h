// Which columns a table has: the default one, those of the source documents, or any by name.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/row.h"
#include "report/speedup.h"

namespace laptime {

struct Column {
  std::string title;
  Unit unit = Unit::kNone;         // how people read it; files get the plain number
  bool text = false;               // flush left
  bool of_phase = false;           // has a value for a single phase too
  bool then_reason = false;        // where a record is not ok, its reason takes the place of the columns that follow
  bool compares = false;           // with baselines, which must be known
  Extent extent = Extent::kWhole;  // how much of a record `read` looks at
  int drop = 0;                    // narrow terminals leave out the highest first; 0 stays
  size_t width = 10;               // what a table that prints as it goes sets aside
  // `phase` is empty for the pass that was asked for.
  std::function<Json(const Row& row, std::string_view phase)> read;
  // The cell as people read it; null: the value in its unit.
  std::function<std::string(const Row& row, std::string_view phase)> text_of{};

  std::string cell(const Row& row, std::string_view phase) const {
    return text_of ? text_of(row, phase) : format_value(read(row, phase), unit);
  }
};

// "default"; "2024", "2025a", "2025b", "2025c", "2025d" and "2025d_attention": the tables of the source documents, with
// their names, order and kind of standard deviation; "attention": the last one for people.
std::span<const std::string_view> column_presets();

// A list joined by commas of presets, "speedup" and "gain" with the ends of their intervals ("speedup_low",
// "speedup_high", "gain_low", "gain_high"), and columns by name as `Row::value` knows them. `baselines` must
// outlive the result. Error for an unknown name (as check_column).
std::vector<Column> columns_of(std::string_view list, const Baselines& baselines, const Records& records);

// How much of each record a report with these columns reads: a row states the status and its reason too, `details`
// more.
Extent extent_of_columns(std::span<const Column> columns, bool details);

// Adds all records where a column compares with them.
void add_baselines(std::span<const Column> columns, const Records& records, Baselines& baselines);

// Why a record is not ok: reason, bytes, op and scope; empty for ok.
std::string reason_of(const Record& record);

}  // namespace laptime
