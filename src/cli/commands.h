// The table of commands, from which parsing, dispatch and help follow.
#pragma once

#include <span>

#include "cli/command.h"

namespace laptime {

std::span<const Command* const> commands();  // in the order of help

}  // namespace laptime
