// How many times faster a record is than float32 eager of the same run.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"

namespace laptime {

// The float32 eager records seen so far. Two records compare if their configurations differ in dtype and mode alone
// and their machines are the same.
class Baselines {
 public:
  Baselines() = default;
  explicit Baselines(std::span<const Record> records);

  // Ignores records that are not ok, float32 and eager.
  void add(const Record& record);

  // Median time of the baseline over that of the record, for one phase ("" for the pass that was asked for). The
  // baseline is of the same command (`run`), else the last one seen. None where a side is not known.
  std::optional<double> speedup(const Record& record, std::string_view phase) const;

 private:
  struct Baseline {
    std::string run;
    std::map<std::string, TimeStats> time;
  };
  std::map<std::string, std::vector<Baseline>> by_point_;
};

}  // namespace laptime
