// The command `laptime compare`.
#pragma once

#include "cli/command.h"

namespace laptime {

extern const Command kCompare;

}  // namespace laptime
