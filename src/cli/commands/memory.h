// laptime memory: what the memory of a step is held for.
#pragma once

#include "cli/command.h"

namespace laptime {

extern const Command kMemory;

}  // namespace laptime
