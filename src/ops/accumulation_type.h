// The number type in which ops accumulate sums and keep statistics of a row.
#pragma once

#include "tensor/dtype.h"

namespace laptime {

// At least float32, whatever the elements are.
constexpr DType accumulation_type(DType element) { return element == DType::kFloat64 ? element : DType::kFloat32; }

}  // namespace laptime
