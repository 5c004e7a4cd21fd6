// Records: what a report is made from, gone through as often as it needs.
#pragma once

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

  // Goes through all of them.
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
class RecordList : public Records {
 public:
  explicit RecordList(std::span<const Record> records) : records_(records) {}

  void each(Extent, const Visit& visit) const override {
    for (const Record& record : records_) {
      if (!visit(record)) return;
    }
  }

 private:
  std::span<const Record> records_;
};

}  // namespace laptime
