// The default grid of `laptime calibrate`.
#pragma once

#include <string_view>

#include "config/sweep.h"

namespace laptime {

// The `sweep` of every record that `laptime calibrate` makes.
inline constexpr std::string_view kCalibrationSweep = "laptime calibrate";

// Steps of two layers at three widths and two lengths, in each mode and number type: the launches of larger models are
// of the same kinds and of sizes between and beyond these. The weights of one layer can stay in the cache of a large
// server, those of a whole model cannot. One width is a power of two, because rows of such a length compete for the
// same cache sets.
Sweep calibration_sweep();

}  // namespace laptime
