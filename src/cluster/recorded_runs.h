// runs_of_records: the times and peaks of stored records as figures to predict, like published figures.
#pragma once

#include <vector>

#include "cluster/published_run.h"
#include "record/record.h"

namespace laptime {

// For each measured record of a whole model, a figure for the time and, if another program ran whole steps, a figure
// for peak memory. laptime's own peak is left out, because it is known exactly before a run.
std::vector<PublishedRun> runs_of_records(const std::vector<Record>& records);

}  // namespace laptime
