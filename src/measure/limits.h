// Measured limits of the machine, with which rates are compared.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.h"
#include "measure/measurement.h"
#include "prepare/knowledge.h"

namespace laptime {

struct LimitsRequest {
  double reached = 0;            // FLOP/s of the run
  bool bandwidth = false;        // also measure the bandwidth, which takes memory
  double reached_bandwidth = 0;  // highest bytes/s of memory that a launch of the run is known to have reached
  bool disturbed = false;        // other programs slowed the run, and probably slow measurements taken now
};

// Returns the limits for a step whose matrix products have factors of type `factors`: stored values from `known`, or
// measured now. A value that was estimated, or measured while the machine was disturbed, is provisional: it is stored
// under a separate name, so that the next run measures again. A peak or bandwidth below the rate of the run is measured
// again, up to four times, because the machine may have been slower at the time. The largest value counts, and the
// bandwidth is never below the rate of the run. Adds new measurements to `learned`, without device and date.
MeasuredLimits measure_limits(Backend& backend, DType factors, const LimitsRequest& request,
                              const std::vector<MeasuredPeak>& known, std::vector<MeasuredPeak>& learned);

// The highest bytes/s of a launch that moves several times the capacity of the caches, so that few bytes can have come
// from them; 0 if there is no such launch.
double memory_bandwidth_reached(const StepTrace& trace);

}  // namespace laptime
