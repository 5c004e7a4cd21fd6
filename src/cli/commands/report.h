// laptime report: stored records, or those of a sweep file, as one page.
#pragma once

#include "cli/command.h"

namespace laptime {

extern const Command kReport;

}  // namespace laptime
