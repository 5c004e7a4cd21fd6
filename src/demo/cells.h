// Cells of the tables of the demonstrations.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>

#include "report/grid.h"

namespace laptime {

// A number as a cell; null where it is not finite.
inline Json finite(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

// A distance from float64 by its leading digits.
inline std::string error_text(const Json& value) {
  return value.is_null() ? "overflow" : fmt::format("{:.1e}", value.get<double>());
}

inline Grid grid_of(std::string name, std::string title, GridColumn first) {
  return {.name = std::move(name), .title = std::move(title), .columns = {std::move(first)}, .rows = {}, .notes = {}};
}

}  // namespace laptime
