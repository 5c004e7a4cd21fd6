// laptime import: records of other files into the store.
#pragma once

#include "cli/command.h"

namespace laptime {

extern constinit const Command kImport;

}  // namespace laptime
