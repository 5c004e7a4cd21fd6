// Shorthands that tests of several layers use: a size and a tensor type.
#pragma once

#include "tensor/layout.h"

namespace laptime::test {

constexpr int64_t kMebibyte = int64_t{1} << 20;

inline TensorType floats(const Shape& shape) { return contiguous_type(DType::kFloat32, shape); }

}  // namespace laptime::test
