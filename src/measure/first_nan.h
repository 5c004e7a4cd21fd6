// find_first_nan: where the values of a run stopped being finite.
#pragma once

#include <functional>
#include <optional>

#include "backend/backend.h"
#include "data/weights.h"
#include "exec/executor.h"
#include "prepare/prepare.h"

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

}  // namespace laptime
