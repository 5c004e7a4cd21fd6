// The default grid of `laptime calibrate`.
#pragma once

#include <string_view>

#include "config/sweep.h"

namespace laptime {

// What records of `laptime calibrate` have as their sweep, whichever points were run.
inline constexpr std::string_view kCalibrationSweep = "laptime calibrate";

// Steps of two layers at three widths and two lengths, in each mode and number type: the launches of larger models are
// of the same kinds and of sizes between and beyond these. The state of a single layer can stay in the cache of a large
// server, where that of a model cannot. One width is a power of two, because such rows compete for the same cache sets.
Sweep calibration_sweep();

}  // namespace laptime
