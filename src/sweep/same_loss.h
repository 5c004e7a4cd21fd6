// Requires a run to reproduce the losses of an earlier run of the same configuration.
#pragma once

#include "record/record.h"

namespace laptime {

// Compares the records if binary, machine, configuration and kernel choices are the same and no file is read. If a loss
// differs in any bit, `record` becomes `failed` with the step and both values, and loses its timing.
void require_same_loss(const Record& earlier, Record& record);

}  // namespace laptime
