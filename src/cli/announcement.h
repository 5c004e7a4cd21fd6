// What a sweep says before its first point: how many points, about how long, what does not fit, and who else is busy.
#pragma once

#include <string>
#include <vector>

#include "cli/expected_points.h"
#include "points/expand.h"

namespace laptime {

// "16 points, 4 from the store, measured 2026-01-02 10:15 UTC or later, about 3 min; too large for the memory: large".
// `expected` comes from expected_points; empty text where every point is a prediction.
std::string announcement(const std::vector<SweepPoint>& points, const std::vector<ExpectedPoint>& expected);

// Why times will be too long, where other programs keep the cores busy; empty where they do not.
std::string busy_machine(double load, int cores);

}  // namespace laptime
