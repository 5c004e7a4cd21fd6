// Checks the predicted memory against what is available, before allocating it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/available_memory.h"
#include "config/run_config.h"
#include "plan/plan.h"
#include "prepare/device.h"
#include "record/record.h"

namespace laptime {

// The most memory that a step may use, and where the limit comes from.
struct MemoryBound {
  std::optional<int64_t> bytes{};  // none if unknown
  std::string text;                // "the step may use 22.80 GiB (95 % of 24.00 GiB, MemAvailable)"
  HeldBytes held_bytes = nullptr;  // Device::held_bytes
  bool pools_steps = false;        // Device::pools_steps

  bool fits(int64_t wanted) const { return !bytes || wanted <= *bytes; }
  int64_t held(int64_t bytes) const { return held_bytes == nullptr ? bytes : held_bytes(bytes); }
};

// The bytes that a run of the plan uses on the device: sources, constants and the arena, each as allocated. With
// `pools_steps`, the values that are alive at the peak count instead of the arena; the pool may reserve more, which is
// known only after a run.
int64_t predicted_peak_bytes(const Plan& plan, const MemoryBound& bound);

// The smaller of --memory-limit and 95 % of the available memory: the memory of the device or, for a CPU, an equal
// share of the machine's memory for each rank.
MemoryBound memory_bound(const RunConfig& config, const Device& device);

// Why the plan does not fit: "predicted: ..." with all parts, the bound and `advice` (may be empty). Empty if it fits.
std::string memory_shortage(const Plan& plan, const MemoryBound& bound, const std::string& advice);

// "1.920 GiB = parameter 490.7 MiB + ...": bytes by role, gaps and rounding to pages, largest first.
std::string memory_arithmetic(const Plan& plan, const MemoryBound& bound);

// The predicted part of a record's memory.
MemoryUse forecast_memory(const Plan& plan, const MemoryBound& bound);

}  // namespace laptime
