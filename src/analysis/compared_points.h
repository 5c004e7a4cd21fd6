// Points of two sets of records: which belong together, and what the ratio of their times says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "distribution/bootstrap.h"
#include "record/record.h"

namespace laptime {

// A point that several processes may have measured.
struct MeasuredPoint {
  std::string name;
  std::vector<Record> processes{};  // that have times
  std::optional<Record> failed{};   // the first that has none
};

// A set of records, by the points in it.
struct MeasuredPoints {
  std::string origin;  // for messages: the file
  std::vector<MeasuredPoint> points{};
};

// A point of both sets.
struct StoredPair {
  std::string name;
  std::optional<double> a{}, b{};  // medians of all samples, in seconds
  int64_t a_processes = 0, b_processes = 0;
  std::optional<double> ratio{};  // B / A
  std::optional<Interval> interval{};
  // Why the pair cannot be judged, as a word ("undecided", kMissing, or the status of a record) and in a sentence; both
  // are empty where the interval judges it.
  std::string unjudged{}, reason{};

  // "faster", "slower", "same", "undecided" or `unjudged`.
  std::string_view verdict(double margin) const;
};
inline constexpr std::string_view kMissing = "missing";

struct ComparedPoints {
  std::vector<StoredPair> pairs;
  double confidence = 0;  // of the intervals
};

// Pairs points of the same name; where each set has a single point, these two are a pair. A point of one set alone is a
// pair that is missing on the other side. The interval of a ratio excludes the true one once in a hundred comparisons,
// and with more than five points as often as keeps it to one in twenty for all of them together. Error if the sets
// share no point and, unless `anyway`, if the records of a pair differ in machine or arithmetic.
ComparedPoints compare_points(const MeasuredPoints& a, const MeasuredPoints& b, bool anyway);

}  // namespace laptime
