// The host's monotonic clock, and how good it is on this machine.
#pragma once

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

}  // namespace laptime
