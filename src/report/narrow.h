// The columns that files of data have where none are asked for: one value in each cell, its unit in the header.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/columns.h"

namespace laptime {

struct NarrowColumn {
  std::string_view header;  // "median_s"
  std::string_view column;  // as Row::value knows it
};
// What the row is, then its configuration; samples and records have these in common.
std::span<const NarrowColumn> configuration_columns();
// All of them, in an order that does not change with the records.
std::span<const NarrowColumn> narrow_columns();

// "default" is the narrow form; any other list as columns_of().
std::vector<Column> data_columns(std::string_view list, const Baselines& baselines, const Records& records);

// One line of JSON, its break included: {"name": ..., "median_s": ...}.
std::string json_row(std::span<const Column> columns, const Record& record);

}  // namespace laptime
