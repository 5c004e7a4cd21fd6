// Pairs the points of two sets of records, and judges the ratios of their times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "distribution/bootstrap.h"
#include "record/record.h"

namespace laptime {

// A point and its records, one for each process that measured it.
struct MeasuredPoint {
  std::string name;
  std::vector<Record> processes{};  // records of the processes that have times
  std::optional<Record> failed{};   // record of the first process without times
};

// A set of records, grouped by point.
struct MeasuredPoints {
  std::string origin;  // name of the file, for messages
  std::vector<MeasuredPoint> points{};
};

// A point of one or both sets.
struct StoredPair {
  std::string name;
  std::string b_name{};            // the point's name in the second set, if it differs
  std::optional<double> a{}, b{};  // medians of all samples, in seconds
  int64_t a_processes = 0, b_processes = 0;
  std::optional<double> ratio{};  // B / A
  std::optional<Interval> interval{};
  // Why the pair cannot be judged, as a word ("undecided", kMissing, or a record's status) and in a sentence; both are
  // empty if the verdict follows from the interval alone.
  std::string unjudged{}, reason{};

  // B compared with A: "faster", "slower", "same" (within `margin`), "undecided" or `unjudged`.
  std::string_view verdict(double margin) const;

  // The name in words, as spoken_name() returns it, without the words of `left_out`. If the names differ, "X and Y".
  std::string spoken(const std::string& left_out = {}) const;
};
inline constexpr std::string_view kMissing = "missing";

struct ComparedPoints {
  std::vector<StoredPair> pairs;
  double confidence = 0;  // confidence level of the intervals
};

// Pairs points with the same name; if each set has a single point, these two form a pair. A point in only one set
// becomes a pair with a missing side. The interval of a ratio has a confidence of 99 %; with more than five points, it
// is raised so that the chance of any error stays at 5 %. Throws Error if the sets share no point. Unless `anyway` is
// true, also throws Error if the records of a pair differ in work (work_of), machine or arithmetic, or if some are
// predicted and others measured.
ComparedPoints compare_points(const MeasuredPoints& a, const MeasuredPoints& b, bool anyway);

}  // namespace laptime
