// TableNotes: what stands below a table because its figures cannot be read rightly without it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "report/columns.h"
#include "report/heading.h"

namespace laptime {

// Which peak an mfu is of, and rows whose samples skipped updates.
class TableNotes {
 public:
  // `details`: few rows, which may be read whole. The date of a peak and skipped steps are in no listing.
  TableNotes(std::span<const Column> columns, bool details);

  // How much of a record add() looks at.
  Extent extent() const;
  void add(const Record& record, const Heading& heading);

  // A sentence each.
  std::vector<std::string> lines() const;

 private:
  struct Peaks {
    double low = 0;  // FLOP/s
    double high = 0;
    std::string first_day;  // the earliest day; empty where no day is known
    std::string last_day;
  };
  void add_peak(const Record& record);

  bool has_mfu_ = false;
  bool details_ = false;
  std::map<std::string, Peaks> peaks_;  // measured ones, by arithmetic
  std::vector<std::string> skips_;
};

}  // namespace laptime
