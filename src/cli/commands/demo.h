// laptime demo: what number types do, shown by the engine's own ops.
#pragma once

#include "cli/command.h"

namespace laptime {

extern const Command kDemo;

}  // namespace laptime
