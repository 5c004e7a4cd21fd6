// Denormal numbers in weights and optimizer states, which make arithmetic many times slower.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "exec/executor.h"
#include "exec/sampling.h"
#include "tensor/dtype.h"

namespace laptime {

// Whether the last quarter of the steps took at least 1.25 times as long as the quarter after the first step, by their
// medians; false for fewer than eight steps.
bool has_slowed_down(const Sampling& sampling);

// Elements of a floating-point type that are denormal; 0 for other types.
int64_t count_denormals(std::span<const std::byte> values, DType dtype);

// Of all parameters and optimizer states, as they are now.
int64_t count_denormals(const Executor& executor);

}  // namespace laptime
