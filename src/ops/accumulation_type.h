// The number type in which ops accumulate sums and keep statistics of a row.
#pragma once

#include "tensor/dtype.h"

namespace laptime {

// float32 or wider, depending on the type of the elements.
constexpr DType accumulation_type(DType element) { return element == DType::kFloat64 ? element : DType::kFloat32; }

}  // namespace laptime
