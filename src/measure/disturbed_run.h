// Whether the machine disturbed a run, for the times that later predictions are made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "measure/measurement.h"

namespace laptime {

// What disturbed the run, as a clause with its figure: "12 % of the time was lost to other guests of the host". By
// the limits of a verdict (distribution/verdict.h) and of a profile (record/step_trace.h): time lost, samples that
// vary, traced steps that took longer than those beside them. Empty where nothing did. `samples` are seconds.
std::string disturbance_of(const Measurement& run, const std::vector<double>& samples,
                           const std::optional<StepTrace>& trace, std::optional<int64_t> threads);

}  // namespace laptime
