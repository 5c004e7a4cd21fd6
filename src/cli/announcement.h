// The line before a sweep: how many points, about how long, and which do not fit.
#pragma once

#include <string>
#include <vector>

#include "cli/expected_points.h"
#include "points/expand.h"

namespace laptime {

// "16 points, 4 from the store, measured 2026-01-02 10:15 UTC or later, about 3 min; too large for the memory: large".
// `expected` comes from expected_points; empty if every point is a prediction.
std::string announcement(const std::vector<SweepPoint>& points, const std::vector<ExpectedPoint>& expected);

}  // namespace laptime
