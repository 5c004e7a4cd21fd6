// Records: what a report is made from, gone through as often as it needs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

#include "record/listing.h"
#include "record/record.h"

namespace laptime {

// The records of a command or of a store. A store may hold more than fits into memory.
class Records {
 public:
  using Visit = std::function<bool(const Record&)>;  // returns false to stop

  Records() = default;
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  virtual ~Records() = default;

  // In their order, each with at least the fields of `extent`.
  virtual void each(Extent extent, const Visit& visit) const = 0;

  template <class Take>
  void all(Extent extent, const Take& take) const {
    each(extent, [&](const Record& record) {
      take(record);
      return true;
    });
  }
};

// Records that a function goes through.
class RecordsBy : public Records {
 public:
  using Each = std::function<void(Extent extent, const Visit& visit)>;
  explicit RecordsBy(Each each) : each_(std::move(each)) {}
  void each(Extent extent, const Visit& visit) const override { each_(extent, visit); }

 private:
  Each each_;
};

inline constexpr size_t kFewRecords = 50;  // up to this many are read whole for a table

// Records in memory, which must outlive it.
class RecordList : public RecordsBy {
 public:
  explicit RecordList(std::span<const Record> records)
      : RecordsBy([records](Extent, const Visit& visit) { (void)std::ranges::all_of(records, visit); }) {}
};

}  // namespace laptime
