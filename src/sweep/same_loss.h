// Requires a run to reproduce the losses of an earlier run of the same configuration.
#pragma once

#include "record/record.h"

namespace laptime {

// Compares the records if binary, machine, configuration with the content of its files, and kernel choices are the
// same. If a loss differs in any bit, `record` becomes `failed` with the step and both values, and loses its timing.
void require_same_loss(const Record& earlier, Record& record);

// Removes the measured figures from the record of a run that must not be trusted.
void clear_timing(Record& record);

}  // namespace laptime
