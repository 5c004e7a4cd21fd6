// Limits of this machine, measured once and kept: what a figure is a fraction of.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.h"
#include "measure/measurement.h"
#include "prepare/knowledge.h"

namespace laptime {

// The limits of a step whose products have factors of this type, from what is known or measured now; what was measured
// is added to `learned`, device and date left empty.
MeasuredLimits measure_limits(Backend& backend, DType factors, const std::vector<MeasuredPeak>& known,
                              std::vector<MeasuredPeak>& learned);

}  // namespace laptime
