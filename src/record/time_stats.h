// The times of a record from samples, and the ratio of two of them.
#pragma once

#include <optional>
#include <span>

#include "distribution/bootstrap.h"
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

}  // namespace laptime
