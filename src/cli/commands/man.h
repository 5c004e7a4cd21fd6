// laptime man: the manual page.
#pragma once

#include "cli/command.h"

namespace laptime {

extern const Command kMan;

}  // namespace laptime
