// How far the times of a table can be relied on, in one line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "record/record.h"

namespace laptime {

// Collects the worst of the rows of a table.
class TrustLine {
 public:
  void add(const Record& record);

  // One line that begins with "!": what the times are good for. Empty if each median is known within 5 % and the
  // machine was quiet.
  std::string line() const;

 private:
  int64_t rows_ = 0;
  double lost_ = 0;
  double uncertainty_ = 0;              // the largest
  std::optional<int64_t> few_samples_;  // the fewest of a row with too few for an interval
  std::string unsteady_;                // the first reason of a verdict against the time
  bool is_predicted_ = false;
};

}  // namespace laptime
