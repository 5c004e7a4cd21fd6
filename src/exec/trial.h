// Trial: one kernel timed alone on operands of a signature.
#pragma once

#include "backend/backend.h"

namespace laptime {

// The shortest of a few runs after one that warms up; operands hold random numbers around 0 (a product of zeros runs
// faster than real work), integers and masks hold 0.
Seconds time_kernel(Backend& backend, const Kernel& kernel, const Signature& signature);

}  // namespace laptime
