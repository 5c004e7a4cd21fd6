// Records: the input of a report, which can read them repeatedly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>

#include "record/listing.h"
#include "record/record.h"

namespace laptime {

// The records of a command or of a store. A store may contain more records than fit in memory.
class Records {
 public:
  using Visit = std::function<bool(const Record&)>;  // returns false to stop

  Records() = default;
  Records(const Records&) = delete;
  Records& operator=(const Records&) = delete;
  virtual ~Records() = default;

  // Visits records in order, each with at least the fields of `extent`.
  virtual void each(Extent extent, const Visit& visit) const = 0;

  // Whether all records belong to one command, including records that it took from the store.
  virtual bool are_of_one_command() const { return false; }

  template <class Take>
  void all(Extent extent, const Take& take) const {
    each(extent, [&](const Record& record) {
      take(record);
      return true;
    });
  }
};

// Records provided by a function.
class RecordsBy : public Records {
 public:
  using Each = std::function<void(Extent extent, const Visit& visit)>;
  explicit RecordsBy(Each each, bool are_of_one_command = false)
      : each_(std::move(each)), are_of_one_command_(are_of_one_command) {}
  void each(Extent extent, const Visit& visit) const override { each_(extent, visit); }
  bool are_of_one_command() const override { return are_of_one_command_; }

 private:
  Each each_;
  bool are_of_one_command_;
};

inline constexpr size_t kFewRecords = 50;  // larger tables get speed-ups only on request

// Records in memory; they must outlive this object.
class RecordList : public RecordsBy {
 public:
  explicit RecordList(std::span<const Record> records, bool are_of_one_command = false)
      : RecordsBy([records](Extent, const Visit& visit) { (void)std::ranges::all_of(records, visit); },
                  are_of_one_command) {}
};

}  // namespace laptime
