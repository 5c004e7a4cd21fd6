// The host's monotonic clock and its quality on this machine, and the frequency of a core.
#pragma once

#include <functional>
#include <optional>

#include "base/units.h"

namespace laptime {

// The time since an arbitrary point, by a monotonic clock.
Seconds host_now();

struct ClockQuality {
  Seconds resolution;  // smallest observed step between two readings
  Seconds overhead;    // cost of one reading, median of many
};

// Measures the quality of host_now() in well under 10 ms.
ClockQuality measure_host_clock();

// Cycles per second of the current core, from dependent register additions, which take one cycle each on every x86-64
// core. Uses the fastest of several rounds, each of a quarter of a million additions (about 0.1 ms), to exclude
// interrupts. `now` is a monotonic clock. None if `now` does not advance during a round.
std::optional<double> measure_clock_hz(const std::function<Seconds()>& now);

}  // namespace laptime
