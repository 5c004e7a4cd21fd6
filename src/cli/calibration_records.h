// What `laptime calibrate` stored, which nobody means who asks for the records of measurements.
#pragma once

#include <cstdint>
#include <string>

#include "record/store.h"
#include "report/filter.h"

namespace laptime {

// Whether a filter asks for runs or sweeps by name, and so for those of `laptime calibrate` too.
bool names_runs(const Filter& filter);

// Leaves those records out, unless the filter names runs.
void leave_out_calibration(Filter& filter);

// The newest run of the store; one of `laptime calibrate` only if `any` or where there is no other. Empty for none.
std::string newest_run(const Store& store, bool any);

}  // namespace laptime
