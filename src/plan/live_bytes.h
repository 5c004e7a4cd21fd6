// What a plan holds at a moment of its step, read off its actions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plan/plan.h"

namespace laptime {

// Bytes of sources, constants and the step buffers that are still alive when the last step of `phase` is done; none
// where the plan has no such phase.
std::optional<int64_t> bytes_after(const Plan& plan, Phase phase);

// Buffers held at the step where most is alive, sources and constants included, the largest first.
std::vector<int> alive_at_peak(const Plan& plan);

}  // namespace laptime
