// How many times faster a record is than float32 eager of the same run, and what lowering a composite costs.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/time_stats.h"

namespace laptime {

// The records seen so far that others are compared with: float32 eager ones, and compiled ones with every composite
// whole. Two records compare if one command measured both on one machine (`run`, `fingerprint`), and their
// configurations differ in dtype, mode, composites and recomputation alone, or in composites alone. Options that a
// command does not vary are the same in all of its records. Of several baselines that of the fewest differing options
// counts.
class Baselines {
 public:
  Baselines() = default;
  explicit Baselines(std::span<const Record> records);

  // Ignores records that are not ok or no baseline.
  void add(const Record& record);

  // Median time of the baseline over that of the record, for one phase ("" for the pass that was asked for). None where
  // there is no baseline or a side has no such time.
  std::optional<TimeRatio> speedup(const Record& record, std::string_view phase) const;

  // The record's median time over that of the step with every composite whole: above 1, keeping what this record lowers
  // gains that much.
  std::optional<TimeRatio> gain(const Record& record, std::string_view phase) const;

 private:
  struct Baseline {
    JsonObject config;
    std::map<std::string, TimeStats> time;
  };
  using ByPoint = std::map<std::string, std::vector<Baseline>>;
  static const Baseline* find(const ByPoint& baselines, const std::string& point, const Record& record);

  ByPoint eager_;
  ByPoint whole_;
};

}  // namespace laptime
