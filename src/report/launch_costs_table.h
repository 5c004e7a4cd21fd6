// The measured costs of launches as a table by kind.
#pragma once

#include <span>

#include "record/store.h"
#include "report/grid.h"

namespace laptime {

// One row for each kind of launch and number of threads, those that take longest first: how many shapes were measured,
// and the rates that they reach.
Grid launch_costs_grid(std::span<const LaunchCost> costs);

}  // namespace laptime
