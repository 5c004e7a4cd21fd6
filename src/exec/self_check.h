// How accurately this process measures time: the cost of an empty step, and timings of loops with a known amount of
// work.
#pragma once

#include <cstdint>

#include "backend/backend.h"
#include "base/units.h"

namespace laptime {

// The median time of a step without launches: the overhead that timing adds to every step.
Seconds time_of_empty_step(Backend& backend);

// Times of loops of dependent additions. A loop takes time in proportion to its rounds, and is timed like a step.
struct BusyLoops {
  int64_t loops = 0;  // number of consecutive loops, all of the same length
  Seconds fastest{};
  Seconds median{};
  Seconds slowest_tenth{};  // the 90th percentile
  double lost = 0;          // time beyond the median, summed over loops, as a share of the time of all loops
  // Median time of loops that are ten times as long, relative to `median`; 10 if timing is accurate.
  double tenfold = 0;
};

// Takes about two seconds.
BusyLoops time_busy_loops();

}  // namespace laptime
