// runs_of_records: the times and peaks of stored records as figures to predict, like those that others published.
#pragma once

#include <vector>

#include "cluster/published_run.h"
#include "record/record.h"

namespace laptime {

// One figure for the time of each measured record of a whole model, and one for the peak of another program. The peak
// of laptime is exact before it runs, and is left out.
std::vector<PublishedRun> runs_of_records(const std::vector<Record>& records);

}  // namespace laptime
