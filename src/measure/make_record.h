// make_record: what was prepared and measured, as a record.
#pragma once

#include "measure/measurement.h"
#include "prepare/prepare.h"
#include "record/record.h"

namespace laptime {

// `described` (describe_point, describe_device) with everything that the run has shown. A run whose values are not
// finite becomes `failed` and has no timing; an interrupted one has none either.
Record make_record(Record described, const Prepared& prepared, const Measurement& measurement);

}  // namespace laptime
