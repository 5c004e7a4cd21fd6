// laptime attention: a sweep of attention alone.
#pragma once

#include "cli/commands/bench.h"

namespace laptime {

// Error for a sweep file of another model.
BenchCommand parse_attention(const CommandWords& words);

}  // namespace laptime
