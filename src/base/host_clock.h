// The host's monotonic clock, how good it is on this machine, and the frequency of a core.
#pragma once

#include <functional>
#include <optional>

#include "base/units.h"

namespace laptime {

// Its zero is arbitrary.
Seconds host_now();

struct ClockQuality {
  Seconds resolution;  // the smallest step seen between two readings
  Seconds overhead;    // of one reading, the median of many
};

// Takes well under 10 ms.
ClockQuality measure_host_clock();

// Cycles per second of the core that runs this: on every x86-64 core, register additions that each depend on the one
// before take one cycle apiece. The result is the fastest of several rounds of a quarter of a million additions (about
// 0.1 ms each), so that interrupts do not count. `now` is a monotonic clock. Empty where it does not advance in a
// round.
std::optional<double> measure_clock_hz(const std::function<Seconds()>& now);

}  // namespace laptime
