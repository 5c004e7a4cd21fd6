// StoredRecords: the records of a store that match a filter, in an order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/store.h"
#include "report/filter.h"
#include "report/records.h"

namespace laptime {

// Which records they are, and in which order, is settled once; each pass reads them from the store, a few at a time.
class StoredRecords : public Records {
 public:
  // Error for a column of the filter that no record can have. `problem` gets a message for each record that cannot be
  // read, once. The store must outlive it.
  StoredRecords(const Store& store, const Filter& filter, Store::Problem problem);

  void each(Extent extent, const Visit& visit) const override;
  void each_id(Extent extent, const Store::Visit& visit) const;  // the same with the id of each

  // "0 of 4 records match: model is medium, small", with the values that the store has in the columns of `filter`,
  // which selected these records. Empty where one matches.
  std::string why_none(const Filter& filter) const;

  // Orders the records as sort_records() does.
  void sort(std::string_view order);

 private:
  const Store& store_;
  Store::Problem problem_;  // passes each message on once
  std::vector<int64_t> ids_;
};

}  // namespace laptime
