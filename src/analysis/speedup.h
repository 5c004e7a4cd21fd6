// Speedups: how many times faster a record is than the baseline of its run, and what each fusion gains.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "distribution/bootstrap.h"
#include "record/record.h"

namespace laptime {

// The ratio of two times, always with its 95 % interval. Times of a device model are exact: low and high are the value.
struct Speedup {
  double value = 0;
  Interval interval;
};

// The ratio of two medians: a bootstrap interval where both sides have enough samples, otherwise the delta method with
// Student's t. Two times of one sample each have no spread to judge by; their interval spans a factor of two.
// None unless both medians are positive.
std::optional<Speedup> speedup_of(const TimeStats& baseline, const TimeStats& time);

// Half the 95 % interval of the median, as a fraction of it; from few samples that of the mean, by Student's t. None
// from a single sample.
std::optional<double> uncertainty_of(const TimeStats& time);

// The rows that others are compared with. Two rows compare only if one command measured both on one machine (`run`,
// `fingerprint`).
//
// A run's baseline differs from a row only in the options that say how a step is computed (number type, mode, threads,
// recomputation, ...), among those that the run varies. It has float32 and eager mode if the run has them, and of every
// other such option the plainest value that the run has: none or false, else the least number, else the first by name.
// The order of the rows does not matter. A run that varies none of them has no baseline.
class Speedups {
 public:
  // Each row of the table, measured or not, before any is compared: it decides what a run varies.
  void plan(const Record& record);

  // Ignores records that are not ok or no baseline.
  void add(const Record& record);

  // Whether some run that was planned varies an option that a baseline is chosen by.
  bool any() const { return !descriptions().empty(); }

  // The options of the baselines: "float32 eager", "threads:1"; one for each kind of run.
  std::vector<std::string> descriptions() const;

  bool is_baseline(const Record& record) const;

  // Median time of the baseline over that of the record, for one phase ("" for the pass that was asked for). None if
  // there is no baseline, a side has no such time, or only one side was measured.
  std::optional<Speedup> speedup(const Record& record, std::string_view phase) const;

  // The record's median time over that of the step with every composite whole: above 1, keeping what this record lowers
  // gains that much.
  std::optional<Speedup> gain(const Record& record, std::string_view phase) const;

 private:
  struct Baseline {
    bool is_predicted = false;
    std::map<std::string, TimeStats> time;
  };
  using ByPoint = std::map<std::string, Baseline>;
  // Of each option that a run varies, the value of its baseline.
  using Values = std::map<std::string, std::string>;

  Values values_of(const std::string& run) const;
  std::string point_of(const Record& record) const;

  std::map<std::string, std::map<std::string, std::set<std::string>>> runs_;  // values of each option
  ByPoint baselines_;
  ByPoint whole_;
};

}  // namespace laptime
