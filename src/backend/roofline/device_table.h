// Machines described by their data sheets, for predictions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tensor/dtype.h"

namespace laptime::roofline {

// Dense peaks without sparsity, FLOP/s; 0 where the device has no such unit. Bytes and bytes per second.
struct Device {
  const char* name;
  const char* title;
  double float32;
  double tf32;
  double bfloat16;
  double bandwidth;
  int64_t memory;
  double launch_seconds;  // host cost of one eager kernel
  const char* source;

  // Of a contraction whose operands have this type, and of all other arithmetic.
  double peak(DType dtype) const {
    return (dtype == DType::kBFloat16 || dtype == DType::kFloat16) && bfloat16 > 0 ? bfloat16 : float32;
  }
};

std::span<const Device> devices();
// Error with the nearest name when there is none.
const Device& find_device(std::string_view name);

}  // namespace laptime::roofline
