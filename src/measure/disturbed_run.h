// Whether the machine disturbed a run, for the times that later predictions are made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/measurement.h"

namespace laptime {

// Describes a disturbance with its figure: "12 % of the time was lost to other guests of the host". These count: more
// than 3 % of the time lost, samples that vary (distribution/verdict.h), traced steps that took longer than those
// beside them (record/step_trace.h). Empty for an undisturbed run. `samples` are seconds.
std::string disturbance_of(const Measurement& run, const std::vector<double>& samples,
                           const std::optional<StepTrace>& trace, std::optional<int64_t> threads);

}  // namespace laptime
