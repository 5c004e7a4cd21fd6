// Passes over a store.
#include "report/stored.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

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

StoredRecords::StoredRecords(const Store& store, const Filter& filter, Store::Problem problem, size_t most_bytes)
    : store_(store), problem_(std::move(problem)), most_bytes_(most_bytes) {
  filter.check(Unfiltered(store));
  if (filter.is_empty()) return;
  std::vector<int64_t> ids;
  read(filter.extent(), [&](int64_t id, const Record& record) {
    if (filter.matches(record, id)) ids.push_back(id);
    return true;
  });
  ids_ = std::move(ids);
}

void StoredRecords::each_id(Extent extent, const Store::Visit& visit) const {
  const ListedRows* const held = extent <= Extent::kRow ? rows() : nullptr;
  held != nullptr ? held->each(visit) : read(extent, visit);
}

const ListedRows* StoredRecords::rows() const {
  if (!rows_ && !too_many_rows_) {
    ListedRows rows;
    read(Extent::kRow, [&](int64_t id, const Record& record) {
      rows.add(id, record);
      too_many_rows_ = rows.bytes() > most_bytes_;
      return !too_many_rows_;
    });
    if (!too_many_rows_) rows_ = std::move(rows);
  }
  return rows_ ? &*rows_ : nullptr;
}

void StoredRecords::read(Extent extent, const Store::Visit& visit) const {
  const Store::Problem problem = [&](const std::string& message) {
    if (known_problems_.insert(message).second) problem_(message);
  };
  if (ids_) {
    store_.each_of(*ids_, extent, visit, problem);
  } else if (rows_ && extent == Extent::kWhole) {
    store_.each_of(rows_->ids(), extent, visit, problem);  // which need not be looked for
  } else {
    store_.each(extent, visit, problem);
  }
}

void StoredRecords::each(Extent extent, const Visit& visit) const {
  each_id(extent, [&](int64_t, const Record& record) {
    some_out_of_memory_ = some_out_of_memory_ || record.status == Status::kOutOfMemory;
    return visit(record);
  });
}

std::optional<Record> StoredRecords::least_out_of_memory(const Cost& cost) const {
  if (!some_out_of_memory_) return std::nullopt;
  std::optional<std::pair<int64_t, int64_t>> least;  // cost and id
  each_id(Extent::kListed, [&](int64_t id, const Record& record) {
    const std::optional<int64_t> own = record.status == Status::kOutOfMemory ? cost(record) : std::nullopt;
    if (own && (!least || *own < least->first)) least = {*own, id};
    return true;
  });
  std::optional<Record> whole;
  if (!least) return whole;
  const Store::Visit keep = [&](int64_t, const Record& record) {
    whole = record;
    return true;
  };
  store_.each_of(std::array{least->second}, Extent::kWhole, keep, problem_);
  return whole;
}

std::string StoredRecords::why_none(const Filter& filter) const {
  if (!ids_ || !ids_->empty()) return {};
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
    text += fmt::format("{} {} is {}{}", i == 0 ? ":" : ";", columns[i], fmt::join(last, ", "),
                        total > kShown ? fmt::format(", or one of {} more", total - kShown) : "");
  }
  return text;
}

void StoredRecords::sort(std::string_view order) {
  const Numbered numbered(*this);
  if (!ids_) {
    numbered.each(Extent::kNames, [](const Record&) { return true; });
    ids_ = numbered.ids();  // another program may append records meanwhile
  }
  const std::vector<size_t> positions = sorted_positions(numbered, order);
  std::vector<int64_t> sorted;
  sorted.reserve(positions.size());
  for (const size_t position : positions) sorted.push_back(numbered.ids()[position]);
  if (rows_) rows_->reorder(sorted);
  ids_ = std::move(sorted);
}

}  // namespace laptime
