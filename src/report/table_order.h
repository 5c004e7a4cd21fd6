// `--sort` of a table: its rows in the order of one of its columns.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "table/table.h"

namespace laptime {

// Reads "COLUMN", "COLUMN:asc" or "COLUMN:desc", where COLUMN is a key or a title of the table in any letter case.
// Throws Error for another direction, and with the nearest name for an unknown column.
struct TableOrder {
  size_t column = 0;
  bool is_descending = false;

  TableOrder(const Table& table, std::string_view text, bool is_descending_by_default);
};

// The indices of the rows in that order; those without a value come last.
std::vector<size_t> row_order(const Table& table, const TableOrder& order);

}  // namespace laptime
