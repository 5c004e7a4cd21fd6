// Speedups: how many times faster a record is than its run's baseline, and the gain from not lowering composites.
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

// The ratio of two times, always with its 95 % interval. Times from a device model are exact: low and high equal the
// value.
struct Speedup {
  double value = 0;
  Interval interval;
};

// The composites that the user chose to lower or to keep: "-a+b" for --lower, and "keep a+b" for --keep, which in
// compile mode lowers all others. Empty if the mode alone decides.
std::string chosen_composites(const Record& record);

// A key that two records share if they are from one machine and their configurations differ at most in `options` and in
// `timeout`.
std::string point_without(const Record& record, const std::vector<std::string_view>& options);

// A key that two records share if they do the same work: equal model, batch, context and pass.
std::string work_of(const Record& record);
// Whether the option with this key determines the work of a step; every other option determines how the work is done.
bool is_work_option(std::string_view key);

// The baseline's time divided by the record's; none unless both records have a time.
std::optional<Speedup> speedup_of(const Record& baseline, const Record& record);

// The baseline's median divided by the other median, with a bootstrap interval if both have enough samples, otherwise
// with an interval by the delta method and Student's t. A single sample has no known spread and counts as uncertain by
// 100 %. The ratio of a time to itself is exact. None unless both medians are positive.
std::optional<Speedup> speedup_of(const TimeStats& baseline, const TimeStats& time);

// The distance from the median to the farther end of its 95 % interval, as a fraction of the median; for few samples,
// half the width of the mean's interval by Student's t, as a fraction of the mean. None for a single sample and for a
// record's predicted time.
std::optional<double> uncertainty_of(const TimeStats& time);
std::optional<double> uncertainty_of(const Record& record, std::string_view phase = {});

// The baselines with which rows are compared. Two rows are compared only if they are from one command (`run`) and one
// machine (`fingerprint`). A record whose run was not passed to plan() counts as a row of the running command, because
// the command may take records of earlier runs from the store.
//
// A run's baseline differs from a row only in options that determine how a step is computed (number type, mode,
// threads, ranks, recomputation, ...), among those that the run varies. Each option in turn narrows the points down to
// those with its usual value (float32, eager mode) if there are any, and otherwise to those with the plainest value:
// none or false, else the smallest number, else the first by name. The order of rows does not matter. A run that varies
// none of these options has no baseline.
class Speedups {
 public:
  // Call for each row of the table, measured or not, before comparing any row, because the rows determine which options
  // a run varies. `run` is the record's run, or empty for the points of a command that is running.
  void plan(const Record& record, std::string_view run);

  // True if a planned point without a run comes before its baseline: when the point has been measured, its ratio is
  // still unknown.
  bool are_late() const;

  // Keeps the times of baselines for speedup() and of steps with no composite lowered for gain(). Ignores all other
  // records, and records that are not ok or have no run.
  void add(const Record& record);

  // Whether some planned run varies an option that affects the choice of baseline.
  bool any() const { return !descriptions().empty(); }

  // The distinct settings of the baselines: "float32 eager", "threads 1".
  std::vector<std::string> descriptions() const;

  bool is_baseline(const Record& record) const;

  // The baseline's median time divided by the record's, for one phase ("" for the requested pass). None if there is no
  // baseline, if either record lacks this time, or if only one of them was measured.
  std::optional<Speedup> speedup(const Record& record, std::string_view phase) const;

  // The record's median time divided by the median time of the same step with no composite lowered. A value above 1 is
  // the gain from keeping the composites that this record lowers.
  std::optional<Speedup> gain(const Record& record, std::string_view phase) const;

 private:
  struct Baseline {
    bool is_predicted = false;
    std::map<std::string, TimeStats> time;
  };
  // The baseline's value of an option that a run varies.
  struct Setting {
    std::string_view key;
    std::string value;  // empty for an unknown number of threads
    bool is_implied;    // in every point of the run, the options before this one determine its value
  };
  struct Run {
    std::set<std::vector<std::string>> points;  // the distinct values of all options that may differ
    std::vector<Setting> baseline;
  };

  std::string run_of(const Record& record) const;
  static std::vector<Setting> baseline_of(const std::set<std::vector<std::string>>& points);
  std::vector<Setting> settings_of(const Record& record) const;  // settings of the baseline in the record's run
  std::string point_of(const Record& record) const;
  std::string whole_point_of(const Record& record) const;
  std::optional<Speedup> compared(const std::string& point, const Record& record, std::string_view phase) const;

  std::map<std::string, Run> runs_;
  std::vector<Record> points_;                 // planned points without a run, in order
  std::map<std::string, Baseline> baselines_;  // by point: the run's baselines, and steps with no composite lowered
};

}  // namespace laptime
