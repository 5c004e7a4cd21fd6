// `laptime plan`: time and bytes of points that do not run.
#pragma once

#include "cli/command.h"

namespace laptime {

extern const Command kPlan;

}  // namespace laptime
