// The command `laptime selfcheck`.
#pragma once

#include "cli/command.h"

namespace laptime {

extern const Command kSelfcheck;

}  // namespace laptime
