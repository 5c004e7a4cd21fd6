// Values that spoil a run: where they stopped being finite, and denormal numbers, which make arithmetic many times
// slower.
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

// The op and scope that first made a NaN or an infinity, after a run of `steps` steps that ended with one. The last
// step has changed weights and optimizer state already, so the run is repeated up to the failing step, with the same
// bits. A NaN of backward enters the weights one step before the loss shows it: then that step is examined.
//
// Call it without any memory of the plan allocated. None if nothing is found, or `stop` (may be empty) returned true
// between steps.
std::optional<Executor::NanSite> find_first_nan(const Prepared& prepared, Backend& backend,
                                                const StartingWeights& weights, int64_t steps,
                                                const std::function<bool()>& stop);

// Whether the last quarter of the steps took at least 1.25 times as long as the quarter after the first step, by their
// medians; false for fewer than eight steps.
bool has_slowed_down(const Sampling& sampling);

// Elements of a floating-point type that are denormal; 0 for other types.
int64_t count_denormals(std::span<const std::byte> values, DType dtype);

// Of all parameters and optimizer states, as they are now.
int64_t count_denormals(const Executor& executor);

}  // namespace laptime
