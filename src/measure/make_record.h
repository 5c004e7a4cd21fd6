// Turns a prepared and measured point into a record, and describes whether the machine disturbed its run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/measurement.h"
#include "prepare/prepare.h"
#include "record/record.h"

namespace laptime {

// Adds the measurements to `described`, which comes from describe_point and describe_device. A run with values that are
// not finite becomes `failed`. Failed runs have no times; interrupted runs keep the samples taken so far.
Record make_record(Record described, const Prepared& prepared, const Measurement& measurement);

// Describes a disturbance with a figure: "12 % of the time was lost to other guests of the host". A run is disturbed if
// more than 3 % of the time was lost, if samples vary (distribution/verdict.h), or if traced steps took longer than the
// untraced steps between them (record/step_trace.h). Empty if the run was not disturbed. `samples` are seconds.
// `threads` is the number of threads of each rank, or none for a device without threads.
std::string disturbance_of(const Measurement& run, const std::vector<double>& samples,
                           const std::optional<StepTrace>& trace, std::optional<int64_t> threads, int64_t ranks = 1);

}  // namespace laptime
