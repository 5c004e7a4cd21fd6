// Reads orders, and sorts by values.
#include "report/order.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/error.h"
#include "base/words.h"
#include "record/json_object.h"
#include "report/columns.h"

namespace laptime {
namespace {

struct SortKey {
  std::string column;
  bool is_descending = false;
};

// Reads "COLUMN[:asc|:desc]"; `where` begins the message of an error.
SortKey sort_key(std::string_view text, std::string_view where, bool is_descending) {
  const size_t colon = text.rfind(':');
  const std::string_view direction = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (colon != std::string_view::npos && direction != "asc" && direction != "desc")
    throw Error::format("{}: unknown direction {}; write COLUMN, COLUMN:asc or COLUMN:desc", where, quote(direction));
  return {std::string(text.substr(0, colon)), direction.empty() ? is_descending : direction == "desc"};
}

// Numbers before everything else, which is ordered by its text.
bool value_before(const Json& a, const Json& b) {
  if (a.is_string() && b.is_string()) return a.text() < b.text();
  if (a.is_number() && b.is_number()) return a.get<double>() < b.get<double>();
  if (a.is_number() != b.is_number()) return a.is_number();
  return plain_text(a) < plain_text(b);
}

// The order of rows of values; a row without a value comes last.
std::vector<size_t> sorted(const std::vector<std::vector<Json>>& rows, const std::vector<SortKey>& keys) {
  std::vector<size_t> positions(rows.size());
  std::iota(positions.begin(), positions.end(), size_t{0});
  std::stable_sort(positions.begin(), positions.end(), [&](size_t a, size_t b) {
    for (size_t k = 0; k < keys.size(); ++k) {
      const Json& left = rows[a][k];
      const Json& right = rows[b][k];
      if (left.is_null() != right.is_null()) return right.is_null();
      if (left.is_null()) continue;
      if (value_before(left, right)) return !keys[k].is_descending;
      if (value_before(right, left)) return keys[k].is_descending;
    }
    return false;
  });
  return positions;
}

}  // namespace

std::vector<size_t> sorted_positions(const Records& records, std::string_view order) {
  constexpr size_t kMaxKeys = 16;
  std::vector<SortKey> keys;
  std::vector<ColumnValue> readers;
  Extent extent = Extent::kNames;
  bool compares = false;
  while (!order.empty()) {
    if (keys.size() == kMaxKeys) throw Error::format("sort: more than the limit of {} columns", kMaxKeys);
    const std::string_view part = order.substr(0, order.find(','));
    order.remove_prefix(std::min(order.size(), part.size() + 1));
    const std::string& column = keys.emplace_back(sort_key(part, "sort", false)).column;
    if (column.empty()) throw Error("sort: expected a column; write COLUMN, COLUMN:asc or COLUMN:desc");
    readers.emplace_back(column);
    compares = compares || compares_rows(column);
    if (compares_rows(column)) continue;
    check_column(column, records, "sort", comparing_columns());
    extent = std::max(extent, readers.back().extent());
  }
  Speedups speedups;
  if (compares) {
    extent = std::max(extent, Extent::kWithConfig);
    speedups = speedups_of(records);
  }
  std::vector<std::vector<Json>> rows;
  records.each(extent, [&](const Record& record) {
    std::vector<Json>& row = rows.emplace_back();
    for (size_t i = 0; i < keys.size(); ++i) {
      row.push_back(compares_rows(keys[i].column) ? compared_value(keys[i].column, speedups, record)
                                                  : readers[i].of(record));
    }
    return true;
  });
  return sorted(rows, keys);
}

std::vector<Record> sort_records(std::span<const Record> records, std::string_view order) {
  std::vector<Record> result;
  result.reserve(records.size());
  for (const size_t position : sorted_positions(RecordList(records), order)) result.push_back(records[position]);
  return result;
}

TableOrder::TableOrder(const Table& table, std::string_view text, bool is_descending_by_default) {
  const SortKey key = sort_key(text, "--sort", is_descending_by_default);
  is_descending = key.is_descending;
  const auto found = std::find_if(table.columns.begin(), table.columns.end(), [&](const TableColumn& one) {
    return one.key == key.column || (!one.title.empty() && lowered(one.title) == lowered(key.column));
  });
  if (found == table.columns.end()) {
    std::vector<std::string_view> known;
    for (const TableColumn& one : table.columns) known.insert(known.end(), {one.key, one.title});
    throw Error::format("--sort: the table '{}' has no column {}{}", table.name, quote(key.column),
                        did_you_mean(key.column, known));
  }
  column = static_cast<size_t>(found - table.columns.begin());
}

std::vector<size_t> row_order(const Table& table, const TableOrder& order) {
  std::vector<std::vector<Json>> rows;
  for (const TableRow& row : table.rows) rows.push_back({row.cells[order.column].value});
  return sorted(rows, {{.column = {}, .is_descending = order.is_descending}});
}

}  // namespace laptime
