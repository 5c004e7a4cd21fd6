// `--sort`: records in the order of some of their columns, and tables in that of one of theirs.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "report/records.h"
#include "table/table.h"

namespace laptime {

// "column[:asc|:desc]", several joined by commas, the first one decides first. Records without a value come last, equal
// ones keep their order. Error for an unknown column or direction.
std::vector<Record> sort_records(std::span<const Record> records, std::string_view order);

// The same as places in the order of `records`: the first one's, the second one's, ...
std::vector<size_t> sorted_positions(const Records& records, std::string_view order);

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
