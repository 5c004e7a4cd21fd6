// The samples of one pass or phase, summed up for a record.
#pragma once

#include <span>

#include "record/record.h"

namespace laptime {

// `samples`: seconds, in the order of time. Error for none, and for one that is not finite (distribution/samples.h).
TimeStats make_time_stats(std::span<const double> samples);

}  // namespace laptime
