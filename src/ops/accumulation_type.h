// The number type in which ops accumulate sums and keep statistics of a row.
#pragma once

#include "tensor/dtype.h"

namespace laptime {

// float64 for elements of float64, and float32 for all other types.
constexpr DType accumulation_type(DType element) { return element == DType::kFloat64 ? element : DType::kFloat32; }

}  // namespace laptime
