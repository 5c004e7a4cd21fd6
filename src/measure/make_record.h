// make_record: turns a prepared and measured point into a record.
#pragma once

#include "measure/measurement.h"
#include "prepare/prepare.h"
#include "record/record.h"

namespace laptime {

// Adds the measurements to `described`, which comes from describe_point and describe_device. A run with values that are
// not finite becomes `failed`; failed runs have no timing, and interrupted ones that of the samples until
// then.
Record make_record(Record described, const Prepared& prepared, const Measurement& measurement);

}  // namespace laptime
