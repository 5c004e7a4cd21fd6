// laptime profile: where the time of a step goes.
#pragma once

#include "cli/command.h"

namespace laptime {

extern const Command kProfile;

}  // namespace laptime
