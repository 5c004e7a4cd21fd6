// The default grid of `laptime calibrate`.
#pragma once

#include <string_view>

#include "config/sweep.h"

namespace laptime {

// What records of `laptime calibrate` have as their sweep, whichever points were run.
inline constexpr std::string_view kCalibrationSweep = "laptime calibrate";

// Steps of one layer at two widths and two lengths, in each mode and number type: the launches of larger models are of
// the same kinds and of sizes between and beyond these.
Sweep calibration_sweep();

}  // namespace laptime
