// Passes over a store.
#include "report/stored.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <set>
#include <utility>

#include "base/words.h"
#include "report/row.h"

namespace laptime {
namespace {

// All records of a store, for the check of the filter's columns.
class Unfiltered : public Records {
 public:
  explicit Unfiltered(const Store& store) : store_(store) {}
  void each(Extent extent, const Visit& visit) const override {
    store_.each(
        extent, [&](int64_t, const Record& record) { return visit(record); }, [](const std::string&) {});
  }

 private:
  const Store& store_;
};

// Goes through records and notes their ids.
class Numbered : public Records {
 public:
  explicit Numbered(const StoredRecords& records) : records_(records) {}
  void each(Extent extent, const Visit& visit) const override {
    ids_.clear();
    records_.each_id(extent, [&](int64_t id, const Record& record) {
      ids_.push_back(id);
      return visit(record);
    });
  }
  const std::vector<int64_t>& ids() const { return ids_; }  // of those that were visited last

 private:
  const StoredRecords& records_;
  mutable std::vector<int64_t> ids_;
};

}  // namespace

StoredRecords::StoredRecords(const Store& store, const Filter& filter, Store::Problem problem) : store_(store) {
  problem_ = [told = std::make_shared<std::set<std::string>>(), problem = std::move(problem)](const std::string& text) {
    if (told->insert(text).second) problem(text);
  };
  filter.check(Unfiltered(store));
  ids_ = store.ids(problem_, filter.condition());
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
  Unfiltered(store_).each(filter.extent(), [&](const Record& record) {
    ++count;
    for (size_t i = 0; i < columns.size(); ++i) values[i].insert(plain_text(Row(record).value(columns[i])));
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
  const Numbered numbered(*this);
  const std::vector<size_t> positions = sorted_positions(numbered, order);
  std::vector<int64_t> sorted;
  sorted.reserve(positions.size());
  for (const size_t position : positions) sorted.push_back(numbered.ids()[position]);
  ids_ = std::move(sorted);
}

}  // namespace laptime
