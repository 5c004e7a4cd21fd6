// `--sort`: records in the order of some of their columns.
#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/words.h"
#include "report/columns.h"
#include "report/filter.h"
#include "report/row.h"

namespace laptime {
namespace {

struct SortKey {
  std::string column;
  bool descending = false;
};

std::vector<SortKey> parse_order(std::string_view order) {
  constexpr size_t kMaxKeys = 16;
  std::vector<SortKey> keys;
  while (!order.empty()) {
    if (keys.size() == kMaxKeys) throw Error::format("sort: more than the limit of {} columns", kMaxKeys);
    const std::string_view part = order.substr(0, order.find(','));
    order.remove_prefix(std::min(order.size(), part.size() + 1));
    const size_t colon = part.rfind(':');
    const std::string_view direction = colon == std::string_view::npos ? "asc" : part.substr(colon + 1);
    if (direction != "asc" && direction != "desc") {
      throw Error::format("sort: unknown direction {}; write COLUMN, COLUMN:asc or COLUMN:desc", quote(direction));
    }
    keys.push_back({std::string(part.substr(0, colon)), direction == "desc"});
    if (keys.back().column.empty()) throw Error("sort: expected a column; write COLUMN, COLUMN:asc or COLUMN:desc");
  }
  return keys;
}

}  // namespace

std::vector<size_t> sorted_positions(const Records& records, std::string_view order) {
  const std::vector<SortKey> keys = parse_order(order);
  Extent extent = Extent::kNames;
  bool compares = false;
  std::map<std::string, ColumnValue> readers;
  for (const SortKey& key : keys) {
    compares = compares || compares_rows(key.column);
    if (compares_rows(key.column)) continue;
    check_column(key.column, records, "sort", comparing_columns());
    readers.emplace(key.column, key.column);
    extent = std::max(extent, extent_of_column(key.column));
  }
  Speedups speedups;
  for (const bool adds : {false, true}) {
    if (!compares) break;
    extent = std::max(extent, Extent::kWithConfig);
    records.each(extent, [&](const Record& record) {
      adds ? speedups.add(record) : speedups.plan(record);
      return true;
    });
  }
  std::vector<std::vector<Json>> values;
  records.each(extent, [&](const Record& record) {
    std::vector<Json>& of_record = values.emplace_back();
    for (const SortKey& key : keys) {
      of_record.push_back(compares_rows(key.column) ? compared_value(key.column, speedups, record)
                                                    : readers.at(key.column).of(record));
    }
    return true;
  });
  std::vector<size_t> positions(values.size());
  std::iota(positions.begin(), positions.end(), size_t{0});
  std::stable_sort(positions.begin(), positions.end(), [&](size_t a, size_t b) {
    for (size_t k = 0; k < keys.size(); ++k) {
      const Json& left = values[a][k];
      const Json& right = values[b][k];
      if (left.is_null() != right.is_null()) return right.is_null();
      if (left.is_null()) continue;
      if (value_before(left, right)) return !keys[k].descending;
      if (value_before(right, left)) return keys[k].descending;
    }
    return false;
  });
  return positions;
}

std::vector<Record> sort_records(std::span<const Record> records, std::string_view order) {
  std::vector<Record> sorted;
  sorted.reserve(records.size());
  for (const size_t position : sorted_positions(RecordList(records), order)) sorted.push_back(records[position]);
  return sorted;
}

}  // namespace laptime
