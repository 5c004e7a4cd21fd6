// How many times faster a record is than the baseline of its run, and what lowering a composite costs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "distribution/verdict.h"
#include "record/record.h"
#include "record/time_stats.h"
#include "report/compare_command.h"

namespace laptime {

// Before a ratio of two times of which one has a verdict against it.
inline constexpr std::string_view kRoughMark = "~";
// Why a ratio of two steady times is rough: in between the machine may have become faster or slower.
inline constexpr std::string_view kTwoCommands = "measured by two commands, at different times";

// A rough ratio is shown only if it is farther from 1 than this many times the spread of both times.
inline constexpr double kBeyondSpread = 3;

// Whether the faster of two times would still be the faster one if both were wrong by kBeyondSpread times the spread of
// their samples (10th to 90th percentile). `ratio` is that of the times.
bool is_beyond_doubt(double ratio, const TimeStats& a, const TimeStats& b);

// What keeps a record from being compared with its baseline.
struct Uncompared {
  Stability stability = Stability::kStable;  // the verdict on the record, or else on its baseline
  NamedPoint baseline;
};

// In words, the verdict on a record that keeps its time from being compared: "no steady state", "unstable" or
// "untested"; empty for none.
std::string verdict_against_comparing(const Record& record);

// The rows that others are compared with. Two rows compare only if one command measured both on one machine (`run`,
// `fingerprint`).
//
// A run's baseline differs from a row in nothing but the options that say how a step is computed (number type, mode,
// threads, recomputation, ...), among those that the run varies. It has float32 and eager mode where the run has them,
// and of every other such option the plainest value that the run has: none or false, else the least number, else the
// first by name. The order of the rows does not matter. A run that varies none of them has no baseline.
class Baselines {
 public:
  Baselines() = default;
  explicit Baselines(std::span<const Record> records);  // plans and adds them

  // Each row of the table, measured or not, before any is compared: it decides what a run varies.
  void plan(const Record& record);

  // Ignores records that are not ok or no baseline.
  void add(const Record& record);

  // What the baselines of the runs have: "float32 eager", "threads:1"; one for each kind of run.
  std::vector<std::string> descriptions() const;

  // What the baseline of the record's own run has; empty where that run has none.
  std::string description_for(const Record& record) const;

  bool is_baseline(const Record& record) const;

  // Median time of the baseline over that of the record, for one phase ("" for the pass that was asked for). None where
  // there is no baseline, a side has no such time, only one side was measured, or the verdict on a side is unstable or
  // no steady state, or the side has too few steps to test for one.
  std::optional<TimeRatio> speedup(const Record& record, std::string_view phase) const;

  // The same where a verdict is against comparing, but the ratio is far larger than what the samples of both sides
  // spread and drift: a rough figure, without an interval. None where speedup() has one.
  std::optional<TimeRatio> rough_speedup(const Record& record, std::string_view phase) const;
  // Either of them, and where the ratio is not as large as that: any figure but that of speedup() is rough.
  std::optional<TimeRatio> any_speedup(const Record& record, std::string_view phase) const;

  // The record's median time over that of the step with every composite whole: above 1, keeping what this record lowers
  // gains that much.
  std::optional<TimeRatio> gain(const Record& record, std::string_view phase) const;
  // As rough_speedup().
  std::optional<TimeRatio> rough_gain(const Record& record, std::string_view phase) const;

  // Why a record has no speed-up, or none for this phase: the verdict that keeps it from being compared, its own or
  // that of its baseline ("untested", "baseline unstable"), or what its baseline lacks ("baseline timeout", "no
  // baseline"). Empty where it has one, where its row says that it has no time, and where the run has no baseline at
  // all.
  std::string why_no_speedup(const Record& record, std::string_view phase) const;
  // Of such a record that is not a baseline itself; none where it has a speed-up, or no baseline.
  std::optional<Uncompared> uncompared(const Record& record) const;
  // As why_no_speedup().
  std::string why_no_gain(const Record& record, std::string_view phase) const;

  // Whether some run that was planned varies an option that a baseline is chosen by.
  bool any() const { return !descriptions().empty(); }

 private:
  struct Baseline {
    std::string name;
    JsonObject config;
    bool predicted = false;
    std::optional<Stability> against;  // the verdict that keeps it from being compared
    std::map<std::string, TimeStats> time;
  };
  using ByPoint = std::map<std::string, Baseline>;
  // Of each option that a run varies, the value of its baseline.
  using Values = std::map<std::string, std::string>;

  enum class Trust : uint8_t {
    kFull,   // no verdict is against comparing
    kRough,  // one is, but the ratio is beyond doubt
    kAny,
  };

  Values values_of(const std::string& run) const;
  static std::string text_of(const Values& values);
  std::string point_of(const Record& record) const;
  static std::optional<TimeRatio> compared(const ByPoint& baselines, const std::string& point, const Record& record,
                                           std::string_view phase, bool inverse, Trust trust);
  std::string why_none(const ByPoint& baselines, const std::string& point, const Record& record,
                       std::string_view phase) const;

  std::map<std::string, std::map<std::string, std::set<std::string>>> runs_;  // values of each option
  ByPoint baselines_;
  ByPoint whole_;
  std::map<std::string, Status> without_time_;  // baselines and whole steps that did not run to their end, by point
};

}  // namespace laptime
