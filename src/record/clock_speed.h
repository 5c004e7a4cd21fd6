// The clock a core runs at now, from the time that a chain of dependent additions takes.
#pragma once

#include <functional>
#include <optional>

#include "base/units.h"

namespace laptime {

// Cycles per second of the core that runs this: register additions that each wait for the one before take one cycle
// apiece on every x86-64 core. The fastest of several rounds of a quarter of a million additions (about 0.1 ms each),
// so that interrupts do not count. `now` is a monotonic clock. Empty where the clock does not advance over a round.
std::optional<double> measure_clock_hz(const std::function<Seconds()>& now);

}  // namespace laptime
