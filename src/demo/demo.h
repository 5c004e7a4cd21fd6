// Demonstrations of number types: each runs small graphs by the engine's own ops and reports what came out.
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

// 0.01 added up ten thousand times, with the types of sum and element in four combinations.
PointAnswer demonstrate_accumulation();
// The number types of a toy model's values under autocast, and how far they are from float64.
PointAnswer demonstrate_autocast();
// Layer norm of ever larger rows, in float16, bfloat16 and float32.
PointAnswer demonstrate_layer_norm();

}  // namespace laptime
