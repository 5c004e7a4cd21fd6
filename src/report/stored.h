// StoredRecords: the records of a store that match a filter, in an order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "record/listed_rows.h"
#include "record/store.h"
#include "report/filter.h"
#include "report/records.h"

namespace laptime {

// What rows need (Extent::kRow) is read once and held packed, unless it is more than fits: then, and for whatever else
// is asked of records, the store is read each time it is gone through, a few records at a time.
class StoredRecords : public Records {
 public:
  static constexpr size_t kMostBytes = size_t{64} << 20U;  // of rows that are held, some 200,000

  // Error for a column of the filter that no record can have. `problem` gets a message for each record that cannot be
  // read, once. The store must outlive it.
  StoredRecords(const Store& store, const Filter& filter, Store::Problem problem, size_t most_bytes = kMostBytes);

  void each(Extent extent, const Visit& visit) const override;
  void each_id(Extent extent, const Store::Visit& visit) const;  // the same with the id of each

  // "0 of 4 records match: model is medium, small", with the values that the store has in the columns of `filter`,
  // which selected these records. Empty where one matches.
  std::string why_none(const Filter& filter) const;

  // Orders the records as sort_records() does.
  void sort(std::string_view order);

  // The whole record that costs least; none if no record has a cost. The cost is asked of listed fields, and only if a
  // record was out of memory in one of the passes so far.
  using Cost = std::function<std::optional<int64_t>(const Record&)>;
  std::optional<Record> least_out_of_memory(const Cost& cost) const;

 private:
  void read(Extent extent, const Store::Visit& visit) const;  // from the store
  const ListedRows* rows() const;                             // reads them where they are not held yet; null: too many

  const Store& store_;
  Store::Problem problem_;
  size_t most_bytes_;
  mutable std::set<std::string> known_problems_;
  mutable bool some_out_of_memory_ = false;
  mutable bool too_many_rows_ = false;
  mutable std::optional<ListedRows> rows_;
  std::optional<std::vector<int64_t>> ids_;  // where they are filtered or sorted: each pass then reads no others
};

}  // namespace laptime
