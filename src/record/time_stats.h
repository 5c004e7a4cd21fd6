// The times of a record: made from samples, their ratio, and how far they can be trusted.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "distribution/bootstrap.h"
#include "distribution/verdict.h"
#include "record/record.h"

namespace laptime {

// `samples`: seconds, in the order of time. Error for none, and for one that is not finite (distribution/samples.h).
TimeStats make_time_stats(std::span<const double> samples);

struct TimeRatio {
  double value = 0;
  std::optional<Interval> interval;  // 95 %; none for a time and itself, and where a side has too few samples
};

// The ratio of the medians; none unless the lower one is positive.
std::optional<TimeRatio> ratio_of_medians(const TimeStats& above, const TimeStats& below);

// A median is good enough for people if its 95 % interval ends within this fraction of it.
inline constexpr double kTrustedWithin = kUnstableInterval;

// Three levels for people: "±N %" beside every time that has an interval (`within`), nothing more if the time is good,
// and one warning below a table that has a time that is not (`is_good()`).
struct Trust {
  std::optional<double> within;  // half-width of the 95 % interval of the median, as a fraction of it: 0.03 is ±3 %
  bool has_few_samples = false;  // too few for an interval
  bool drifts = false;           // steps got faster or slower while they were sampled
  bool is_busy = false;          // others took more than kUnstableLoss of the time
  bool is_meaningless = false;   // a debug or sanitizer build
  std::optional<double> lost;    // share of the time that others took; none where it is not counted
  std::string lost_to;           // "waiting for a core", "to a CPU quota", "to other guests of the host"

  bool is_good() const {
    return !has_few_samples && !drifts && !is_busy && !is_meaningless && within.value_or(0) <= kTrustedWithin;
  }
};

// How far the time of the record's pass can be trusted; none for a record without one, and for a prediction.
std::optional<Trust> trust_of(const Record& record);

// Half the 95 % interval of a time, of a phase or a pass, as a fraction of its median; none below six samples.
std::optional<double> known_within(const Summary& time);

}  // namespace laptime
