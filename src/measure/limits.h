// Measured limits of the machine, which rates are compared with.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.h"
#include "measure/measurement.h"
#include "prepare/knowledge.h"

namespace laptime {

// The limits of a step whose matrix products have factors of this type: stored values from `known`, or measured now.
// New measurements are added to `learned`, without device and date. Bandwidth is measured only if asked for, because
// that takes memory.
MeasuredLimits measure_limits(Backend& backend, DType factors, bool bandwidth, const std::vector<MeasuredPeak>& known,
                              std::vector<MeasuredPeak>& learned);

}  // namespace laptime
