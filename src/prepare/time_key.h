// The names of the times of a record.
#pragma once

#include <string>

#include "config/run_config.h"
#include "graph/graph.h"

namespace laptime {

// Key of the time of the pass that was asked for, and of the time of one phase in a step of that pass.
std::string time_key(Pass pass);
std::string time_key(Phase phase, Pass pass);

}  // namespace laptime
