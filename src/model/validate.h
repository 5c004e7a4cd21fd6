// Whether a point can be asked for.
#pragma once

#include "config/run_config.h"

namespace laptime {

// Error with the reason unless such a point can exist: ranges of options, what the model's card checks, options that
// contradict each other, and sizes (tensors, parameters, FLOPs) that fit 63 bits.
void validate(const RunConfig& config);

}  // namespace laptime
