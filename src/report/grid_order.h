// `--sort` of a grid: its rows in the order of one of its columns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "report/grid.h"

namespace laptime {

enum class Direction : uint8_t { kAscending, kDescending };

// A column of a grid by its key or by the title that people see, in capitals or not, and a direction.
struct GridOrder {
  size_t column = 0;
  Direction direction = Direction::kAscending;
};

// Reads "COLUMN", "COLUMN:asc" or "COLUMN:desc". Error for another direction, and with the nearest column of the table
// `name` for one that it does not have.
GridOrder grid_order(std::string_view name, const std::vector<GridColumn>& columns, std::string_view text,
                     Direction otherwise);

// The indices of the rows in that order; those without a value come last.
std::vector<size_t> row_order(const Grid& grid, const GridOrder& order);

}  // namespace laptime
