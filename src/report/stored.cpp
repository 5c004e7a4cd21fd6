// Passes over a store.
#include "report/stored.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "base/words.h"
#include "record/json_object.h"
#include "report/columns.h"
#include "report/order.h"

namespace laptime {
namespace {

// All records of a store, for the check of the filter's columns.
RecordsBy all_of(const Store& store) {
  return RecordsBy([&store](Extent extent, const Records::Visit& visit) {
    store.each(
        extent, [&](int64_t, const Record& record) { return visit(record); }, [](const std::string&) {});
  });
}

}  // namespace

StoredRecords::StoredRecords(const Store& store, const Filter& filter, Store::Problem problem) : store_(store) {
  problem_ = [told = std::make_shared<std::set<std::string>>(), problem = std::move(problem)](const std::string& text) {
    if (told->insert(text).second) problem(text);
  };
  filter.check(all_of(store));
  ids_ = store.ids(problem_);
  if (filter.is_empty()) return;
  std::vector<int64_t> matching;
  each_id(filter.extent(), [&](int64_t id, const Record& record) {
    if (filter.matches(record, id)) matching.push_back(id);
    return true;
  });
  ids_ = std::move(matching);
}

void StoredRecords::each_id(Extent extent, const Store::Visit& visit) const {
  store_.each_of(ids_, extent, visit, problem_);
}

void StoredRecords::each(Extent extent, const Visit& visit) const {
  each_id(extent, [&](int64_t, const Record& record) { return visit(record); });
}

std::string StoredRecords::why_none(const Filter& filter) const {
  if (filter.is_empty() || !ids_.empty()) return {};
  std::vector<std::string> columns = filter.columns();
  std::sort(columns.begin(), columns.end());
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  size_t count = 0;
  std::vector<std::set<std::string>> values(columns.size());
  all_of(store_).each(filter.extent(), [&](const Record& record) {
    ++count;
    for (size_t i = 0; i < columns.size(); ++i) values[i].insert(plain_text(value_of(record, columns[i])));
    return true;
  });
  std::string text = fmt::format("0 of {} records match", count);
  for (size_t i = 0; i < columns.size(); ++i) {
    constexpr std::ptrdiff_t kShown = 8;
    const auto total = static_cast<std::ptrdiff_t>(values[i].size());
    if (total == 0) continue;
    const std::vector<std::string> last(std::prev(values[i].end(), std::min(total, kShown)), values[i].end());
    text += fmt::format("{} {} is {}{}", i == 0 ? ":" : ";", columns[i], joined(last, ", "),
                        total > kShown ? fmt::format(", or one of {} more", total - kShown) : "");
  }
  return text;
}

void StoredRecords::sort(std::string_view order) {
  std::vector<int64_t> visited;  // a record that cannot be read any more has no place in the order
  const RecordsBy numbered([&](Extent extent, const Visit& visit) {
    visited.clear();
    each_id(extent, [&](int64_t id, const Record& record) {
      visited.push_back(id);
      return visit(record);
    });
  });
  std::vector<int64_t> sorted;
  for (const size_t position : sorted_positions(numbered, order)) sorted.push_back(visited[position]);
  ids_ = std::move(sorted);
}

}  // namespace laptime
