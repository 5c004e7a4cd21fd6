// How many times faster a record is than float32 eager of the same run, and what lowering a composite costs.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"

namespace laptime {

// The records seen so far that others are compared with: float32 eager ones, and compiled ones with every composite
// whole. Two records compare if their configurations differ in dtype and mode alone, or in what is lowered alone, and
// their machines are the same.
class Baselines {
 public:
  Baselines() = default;
  explicit Baselines(std::span<const Record> records);

  // Ignores records that are not ok or no baseline.
  void add(const Record& record);

  // Median time of the baseline over that of the record, for one phase ("" for the pass that was asked for). The
  // baseline is of the same command (`run`), else the last one seen. None where a side is not known.
  std::optional<double> speedup(const Record& record, std::string_view phase) const;

  // The record's median time over that of the step with every composite whole: above 1, keeping what this record lowers
  // gains that much.
  std::optional<double> gain(const Record& record, std::string_view phase) const;

 private:
  struct Baseline {
    std::string run;
    std::map<std::string, TimeStats> time;
  };
  using ByPoint = std::map<std::string, std::vector<Baseline>>;
  static std::optional<double> times_faster(const ByPoint& baselines, const std::string& point, const Record& record,
                                            std::string_view phase);

  ByPoint eager_;
  ByPoint whole_;
};

}  // namespace laptime
