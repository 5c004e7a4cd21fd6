// Finds the times of a record by pass or phase, and computes statistics of samples.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "record/record.h"

namespace laptime {

// `samples`: seconds, in time order. Throws Error if there are none or one is not finite (distribution/samples.h).
TimeStats make_time_stats(std::span<const double> samples);

// The time of a phase, or of the requested pass if `phase` is empty; null without samples.
const TimeStats* time_of(const Record& record, std::string_view phase = {});

// The distance from the median to the farther end of its 95 % interval, as a fraction of the median. None for fewer
// than six samples.
std::optional<double> known_within(const Summary& time);

}  // namespace laptime
