// `laptime calibrate`: measures the launches that predictions are made of.
#pragma once

#include "cli/command.h"

namespace laptime {

extern const Command kCalibrate;

}  // namespace laptime
