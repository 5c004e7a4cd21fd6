// Finds the column, and sorts.
#include "report/table_order.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/error.h"
#include "base/words.h"
#include "report/row.h"

namespace laptime {

TableOrder::TableOrder(const Table& table, std::string_view text, bool is_descending_by_default)
    : is_descending(is_descending_by_default) {
  const size_t colon = text.rfind(':');
  const std::string_view word = text.substr(0, colon);
  if (colon != std::string_view::npos) {
    const std::string_view direction = text.substr(colon + 1);
    if (direction != "asc" && direction != "desc")
      throw Error::format("--sort: unknown direction {}; write COLUMN:asc or COLUMN:desc", quote(direction));
    is_descending = direction == "desc";
  }
  const auto found = std::find_if(table.columns.begin(), table.columns.end(), [&](const TableColumn& one) {
    return one.key == word || (!one.title.empty() && lowered(one.title) == lowered(word));
  });
  if (found == table.columns.end()) {
    std::vector<std::string_view> known;
    for (const TableColumn& one : table.columns) known.insert(known.end(), {one.key, one.title});
    throw Error::format("--sort: the table '{}' has no column {}{}", table.name, quote(word),
                        did_you_mean(word, known));
  }
  column = static_cast<size_t>(found - table.columns.begin());
}

std::vector<size_t> row_order(const Table& table, const TableOrder& order) {
  std::vector<size_t> rows(table.rows.size());
  std::iota(rows.begin(), rows.end(), size_t{0});
  std::stable_sort(rows.begin(), rows.end(), [&](size_t x, size_t y) {
    const Json& a = table.rows[x].cells[order.column].value;
    const Json& b = table.rows[y].cells[order.column].value;
    if (a.is_null() || b.is_null()) return !a.is_null() && b.is_null();
    return order.is_descending ? value_before(b, a) : value_before(a, b);
  });
  return rows;
}

}  // namespace laptime
