// How well this process can time: the cost of an empty step, and loops whose work is known.
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "base/units.h"

namespace laptime {

// The median time of a step without launches: what timing adds to every step.
Seconds time_of_empty_step(Backend& backend);

// A loop of dependent additions, which takes as long as it has rounds, timed as steps are.
struct BusyLoops {
  int64_t loops = 0;  // of one length, one after the other
  Seconds fastest{};  // of them
  Seconds median{};
  Seconds slowest_tenth{};  // the 90th percentile
  double lost = 0;          // of the time of all loops, beyond what they take at the pace of the median
  double tenfold = 0;  // the median time of loops of ten times the length, over that of the others; 10 if time is right
};

// Takes about two seconds.
BusyLoops time_busy_loops();

}  // namespace laptime
