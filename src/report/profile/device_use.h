// What a profile says of a device that runs beside the host: whether it waits for launches.
#pragma once

#include <string>
#include <vector>

#include "record/step_trace.h"

namespace laptime {

// "launch-bound: 2341 kernels, 38 % idle; in a graph 12.10 ms", and what that is known by. Empty where nothing is
// known.
std::vector<std::string> device_use_lines(const StepTrace& trace);

}  // namespace laptime
