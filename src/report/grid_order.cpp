// Finds the column, and sorts.
#include "report/grid_order.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/error.h"
#include "base/words.h"
#include "report/row.h"

namespace laptime {

GridOrder grid_order(std::string_view name, const std::vector<GridColumn>& columns, std::string_view text,
                     Direction otherwise) {
  const size_t colon = text.rfind(':');
  const std::string_view word = text.substr(0, colon);
  GridOrder order{0, otherwise};
  if (colon != std::string_view::npos) {
    const std::string_view direction = text.substr(colon + 1);
    if (direction != "asc" && direction != "desc")
      throw Error::format("--sort: unknown direction {}; write COLUMN:asc or COLUMN:desc", quote(direction));
    order.direction = direction == "asc" ? Direction::kAscending : Direction::kDescending;
  }
  const auto column = std::find_if(columns.begin(), columns.end(), [&](const GridColumn& one) {
    return one.key == word || lowered(one.title) == lowered(word);
  });
  if (column == columns.end()) {
    std::vector<std::string_view> known;
    for (const GridColumn& one : columns) known.insert(known.end(), {one.key, one.title});
    throw Error::format("--sort: the table '{}' has no column {}{}", name, quote(word), did_you_mean(word, known));
  }
  order.column = static_cast<size_t>(column - columns.begin());
  return order;
}

std::vector<size_t> row_order(const Grid& grid, const GridOrder& order) {
  std::vector<size_t> rows(grid.rows.size());
  std::iota(rows.begin(), rows.end(), size_t{0});
  std::stable_sort(rows.begin(), rows.end(), [&](size_t x, size_t y) {
    const Json& a = grid.rows[x][order.column];
    const Json& b = grid.rows[y][order.column];
    if (a.is_null() || b.is_null()) return !a.is_null() && b.is_null();
    return order.direction == Direction::kDescending ? value_before(b, a) : value_before(a, b);
  });
  return rows;
}

}  // namespace laptime
