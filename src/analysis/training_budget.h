// How long a training takes and what it costs, from the step of a record.
#pragma once

#include <optional>

#include "analysis/finding.h"
#include "config/training_options.h"
#include "record/record.h"

namespace laptime {

// training_time   tokens, steps, time_s, low_s, high_s, price_per_hour, price, price_low, price_high, kwh, is_bound:
// what is not known is absent. Of a bound from a data sheet, low_s and high_s are those of published runs. From the
// measured median of a step and its 95 % interval or, in a record of a prediction, the predicted time. None for another
// pass than a step, and where the record has no time or, for epochs, no data.
std::optional<Finding> training_time(const Record& record, const TrainingBudget& budget);

}  // namespace laptime
