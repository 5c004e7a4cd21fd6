// Table cells for the demonstrations.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "table/table.h"

namespace laptime {

// A number as a cell; null if it is not finite.
inline Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// A cell with the error relative to the float64 result, in two significant digits; "overflow" if it is not finite.
inline TableCell error_cell(double error) {
  return {finite(error), std::isfinite(error) ? fmt::format("{:.1e}", error) : "overflow"};
}

inline Table table_of(std::string name, std::string title, TableColumn first) {
  return {.name = std::move(name), .title = std::move(title), .columns = {std::move(first)}};
}

}  // namespace laptime
