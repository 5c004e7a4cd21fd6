// laptime record: measures steps that another program runs.
#pragma once

#include "cli/command.h"

namespace laptime {

extern const Command kRecord;

}  // namespace laptime
