// Measured limits of the machine, which rates are compared with.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.h"
#include "measure/measurement.h"
#include "prepare/knowledge.h"

namespace laptime {

struct LimitsRequest {
  double reached = 0;      // FLOP/s of the run
  bool bandwidth = false;  // measured only if asked for, because that takes memory
};

// The limits of a step whose matrix products have factors of this type: stored values from `known`, or measured now. A
// peak below `reached` is measured again, because the machine may have been slower when it was measured; the larger
// value counts. New measurements are added to `learned`, without device and date.
MeasuredLimits measure_limits(Backend& backend, DType factors, const LimitsRequest& request,
                              const std::vector<MeasuredPeak>& known, std::vector<MeasuredPeak>& learned);

}  // namespace laptime
