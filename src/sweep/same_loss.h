// A run must repeat itself: its losses against those of an earlier run of the same configuration.
#pragma once

#include "record/record.h"

namespace laptime {

// Where `earlier` is of the same binary, machine, configuration and kernel choices, reads no file, and a loss differs
// in any bit: `record` becomes `failed` with the step and both values, and its timing is taken away. Else nothing.
void require_same_loss(const Record& earlier, Record& record);

}  // namespace laptime
