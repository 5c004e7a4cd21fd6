// Devices described by their data sheets, for predictions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tensor/dtype.h"

namespace laptime::roofline {

// Peaks in FLOP/s without sparsity, 0 if the device has no such unit; `bandwidth` in bytes per second, `memory` in
// bytes.
struct Device {
  const char* name;
  const char* title;
  double float32;
  double tf32;
  double bfloat16;
  double bandwidth;
  int64_t memory;
  double launch_seconds;  // host time per kernel launch
  const char* source;

  // Peak of matrix products whose factors have this type.
  double peak(DType dtype) const {
    return (dtype == DType::kBFloat16 || dtype == DType::kFloat16) && bfloat16 > 0 ? bfloat16 : float32;
  }
};

std::span<const Device> devices();
// Error with the nearest name if there is no such device.
const Device& find_device(std::string_view name);

}  // namespace laptime::roofline
