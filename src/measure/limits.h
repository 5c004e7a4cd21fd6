// Measured limits of the machine, which rates are compared with.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.h"
#include "measure/measurement.h"
#include "prepare/knowledge.h"

namespace laptime {

struct LimitsRequest {
  double reached = 0;            // FLOP/s of the run
  bool bandwidth = false;        // measured only if asked for, because that takes memory
  double reached_bandwidth = 0;  // bytes/s that the run is known to have moved from and to memory
  bool disturbed = false;        // other programs took time of the run, and so probably of what is measured now
};

// The limits of a step whose matrix products have factors of this type: stored values from `known`, or measured now. A
// value that was estimated, or measured while the machine was disturbed, is provisional: it is stored under a name of
// its own, so that the next run measures again. A peak or bandwidth below what the run has reached is measured again,
// up to four times, because the machine may have been slower when it was measured; the largest value counts, and no
// bandwidth is below the one reached. New measurements are added to `learned`, without device and date.
MeasuredLimits measure_limits(Backend& backend, DType factors, const LimitsRequest& request,
                              const std::vector<MeasuredPeak>& known, std::vector<MeasuredPeak>& learned);

// The highest bytes/s of a launch that moves several times as many bytes as the last level of the caches holds, so that
// few of them can have come from there; 0 without such a launch.
double memory_bandwidth_reached(const StepTrace& trace);

}  // namespace laptime
