// The command `laptime history`.
#pragma once

#include "cli/command.h"

namespace laptime {

extern const Command kHistory;

}  // namespace laptime
