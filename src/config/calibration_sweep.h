// The default grid of `laptime calibrate`.
#pragma once

#include "config/sweep.h"

namespace laptime {

// Steps of one layer at two widths and two lengths, in each mode and number type: the launches of larger models are of
// the same kinds and of sizes between and beyond these.
Sweep calibration_sweep();

}  // namespace laptime
