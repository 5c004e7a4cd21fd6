// The memory that a plan holds at a given point of the step.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/plan.h"

namespace laptime {

// Bytes of sources, constants and live step buffers after the last step of `phase` (for forward, the last one before
// backward begins); none if the plan has no step of that phase.
std::optional<int64_t> bytes_after(const Plan& plan, Phase phase);

// Indices of the buffers held at the step of peak memory, including sources and constants, largest buffer first.
std::vector<int> alive_at_peak(const Plan& plan);

}  // namespace laptime
