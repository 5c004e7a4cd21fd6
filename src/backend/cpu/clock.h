// The clock of the CPU backend, and how good it is on this machine.
#pragma once

#include "base/units.h"

namespace laptime::cpu {

// Monotonic; its zero is arbitrary.
Seconds now();

struct ClockQuality {
  Seconds resolution;  // the smallest step seen between two readings
  Seconds overhead;    // of one reading, the median of many
};

// Takes well under 10 ms.
ClockQuality measure_clock();

}  // namespace laptime::cpu
