// Demonstrations of number types: each runs small graphs with the engine's ops and reports the results.
#pragma once

#include <span>
#include <string_view>

#include "report/answer.h"

namespace laptime {

struct Demo {
  std::string_view name;
  std::string_view summary;  // one line
  PointAnswer (*run)() = nullptr;
};
std::span<const Demo> demos();

// Adds 0.01 ten thousand times, in five loops with different types for the sum and the element.
PointAnswer demonstrate_accumulation();
// The number types of a toy model's values under autocast, and their errors relative to float64.
PointAnswer demonstrate_autocast();
// Layer norm of rows with increasing values, in float16, bfloat16 and float32.
PointAnswer demonstrate_layer_norm();

}  // namespace laptime
