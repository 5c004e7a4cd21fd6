// Finds values that spoil a run: where they stopped being finite, and denormal numbers, which slow arithmetic down
// severalfold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "backend/backend.h"
#include "data/weights.h"
#include "exec/executor.h"
#include "exec/sampling.h"
#include "prepare/prepare.h"
#include "tensor/dtype.h"

namespace laptime {

// The op and scope that first produced a NaN or an infinity, after a run of `steps` steps that ended with one. The last
// step has already changed weights and optimizer state, so the run is repeated bit for bit up to the failing step. A
// NaN in backward reaches the weights one step before the loss shows it; in that case the earlier step is examined.
//
// Call it while no memory of the plan is allocated. None if nothing is found, or if `stop` (may be empty) returned true
// between steps.
std::optional<Executor::NanSite> find_first_nan(const Prepared& prepared, Backend& backend,
                                                const StartingWeights& weights, int64_t steps,
                                                const std::function<bool()>& stop);

// True if the last quarter of the steps took at least 1.25 times as long as the quarter after the first step, comparing
// medians. False for fewer than eight steps.
bool has_slowed_down(const Sampling& sampling);

// Denormal elements of a floating-point type; 0 for other types.
int64_t count_denormals(std::span<const std::byte> values, DType dtype);

// The count over all parameters and optimizer states, in their current values.
int64_t count_denormals(const Executor& executor);

}  // namespace laptime
