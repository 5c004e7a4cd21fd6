// Finds values that spoil a run: the first value that is not finite, and denormal numbers, which slow arithmetic down
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

// The op and scope that first produced a NaN or an infinity in a run of `steps` steps whose results were not finite.
// The last step has already changed weights and optimizer state, so the run is repeated bit for bit up to the failing
// step. A NaN in backward reaches the weights one step before the loss shows it; in that case the earlier step is
// examined.
//
// Must be called while none of the plan's memory is allocated. None if nothing is found, or if `stop` (may be empty)
// returns true between steps.
std::optional<Executor::NanSite> find_first_nan(const Prepared& prepared, Backend& backend,
                                                const StartingWeights& weights, int64_t steps,
                                                const std::function<bool()>& stop);

// True if the median time of the last quarter of the steps is at least 1.25 times that of the first quarter, not
// counting the first step. False for fewer than eight steps.
bool has_slowed_down(const Sampling& sampling);

// Number of denormal elements; 0 unless `dtype` is a floating-point type.
int64_t count_denormals(std::span<const std::byte> values, DType dtype);

// The current number of denormal values in all parameters and optimizer states.
int64_t count_denormals(const Executor& executor);

}  // namespace laptime
