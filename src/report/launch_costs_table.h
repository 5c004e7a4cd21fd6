// The measured costs of launches as a table by kind.
#pragma once

#include <span>

#include "record/store.h"
#include "table/table.h"

namespace laptime {

// One row for each kind of launch and number of threads, those that take longest first: how many shapes were measured,
// and the rates that they reach.
Table launch_costs_table(std::span<const LaunchCost> costs);

}  // namespace laptime
