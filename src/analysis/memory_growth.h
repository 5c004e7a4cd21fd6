// How much of a peak grows with the context, and how: the buffers of the same step at two contexts, matched one by one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "record/step_trace.h"

namespace laptime {

// Bytes that the step at the longer context holds at its peak, as requested.
struct MemoryGrowth {
  int64_t constant = 0;     // in buffers of the same size at both contexts
  int64_t linear = 0;       // in buffers that grow in proportion to the context
  int64_t square = 0;       // in buffers that grow with its square
  std::string square_op{};  // the op that writes most of `square`; empty where nothing grows so

  int64_t total() const { return constant + linear + square; }
};

// None where some buffer of the longer context's peak has none that corresponds to it at the shorter one, as where the
// two run other kernels. `shorter` and `longer` are context lengths, 0 < shorter < longer.
std::optional<MemoryGrowth> memory_growth(const StepTrace& at_shorter, int64_t shorter, const StepTrace& at_longer,
                                          int64_t longer);

}  // namespace laptime
