// Finds the times of a record by pass or phase, and computes times from samples.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "record/record.h"

namespace laptime {

// `samples`: seconds, in time order. Throws Error if it is empty or a sample is not finite (distribution/samples.h).
TimeStats make_time_stats(std::span<const double> samples);

// The time of a phase, or of the requested pass if `phase` is empty; null without samples.
const TimeStats* time_of(const Record& record, std::string_view phase = {});

// Half-width of the 95 % interval of a phase or pass time, as a fraction of its median; none for fewer than six
// samples.
std::optional<double> known_within(const Summary& time);

}  // namespace laptime
