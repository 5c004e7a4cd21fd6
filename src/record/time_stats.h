// The times of a record: computed from samples, their ratio, and how reliable they are.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "distribution/bootstrap.h"
#include "distribution/verdict.h"
#include "record/record.h"

namespace laptime {

// `samples`: seconds, in time order. Throws Error if it is empty or a sample is not finite (distribution/samples.h).
TimeStats make_time_stats(std::span<const double> samples);

struct TimeRatio {
  double value = 0;
  std::optional<Interval> interval;  // 95 %; none if a time is compared with itself or a side has too few samples
};

// The ratio of the medians; none unless the denominator is positive.
std::optional<TimeRatio> ratio_of_medians(const TimeStats& above, const TimeStats& below);

// A median is reliable enough for people if its 95 % interval is within this fraction of it.
inline constexpr double kTrustedWithin = kUnstableInterval;

// Three levels for people: "±N %" next to every time that has an interval (`within`), no further remark if the time is
// reliable, and one warning below a table that contains an unreliable time (`is_good()`).
struct Trust {
  std::optional<double> within;  // half-width of the median's 95 % interval, as a fraction of the median: 0.03 is ±3 %
  bool has_few_samples = false;  // too few for an interval
  bool drifts = false;           // steps got faster or slower while they were sampled
  bool is_busy = false;          // other programs took more than kUnstableLoss of the time
  bool is_meaningless = false;   // a debug or sanitizer build
  std::optional<double> lost;    // share of the time taken by other programs; none if not counted
  std::string lost_to;           // "waiting for a core", "to a CPU quota", "to other guests of the host"

  bool is_good() const {
    return !has_few_samples && !drifts && !is_busy && !is_meaningless && within.value_or(0) <= kTrustedWithin;
  }
};

// How reliable the time of the record's pass is; none if the record has no such time, and for a prediction.
std::optional<Trust> trust_of(const Record& record);

// Half-width of the 95 % interval of a phase or pass time, as a fraction of its median; none for fewer than six
// samples.
std::optional<double> known_within(const Summary& time);

}  // namespace laptime
