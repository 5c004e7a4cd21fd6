// laptime completion: scripts for shells, and the words that they ask for.
#pragma once

#include "cli/command.h"

namespace laptime {

extern const Command kCompletion;

}  // namespace laptime
