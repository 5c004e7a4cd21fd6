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
  bool bandwidth = false;        // measured only on request, because it takes memory
  double reached_bandwidth = 0;  // bytes/s that the run is known to have transferred from and to memory
  bool disturbed = false;  // other programs took time from the run, and probably also affect measurements taken now
};

// The limits for a step whose matrix products have factors of this type: stored values from `known`, or measured now. A
// value that was estimated, or measured while the machine was disturbed, is provisional: it is stored under a separate
// name, so that the next run measures again. A peak or bandwidth below what the run has reached is measured again, up
// to four times, because the machine may have been slower when it was measured; the largest value is used, and the
// bandwidth is never below the one reached. New measurements are added to `learned`, without device and date.
MeasuredLimits measure_limits(Backend& backend, DType factors, const LimitsRequest& request,
                              const std::vector<MeasuredPeak>& known, std::vector<MeasuredPeak>& learned);

// The highest bytes/s of a launch that moves several times the capacity of the last-level cache, so that few bytes can
// have come from it; 0 without such a launch.
double memory_bandwidth_reached(const StepTrace& trace);

}  // namespace laptime
