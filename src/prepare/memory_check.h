// Memory predicted before it is taken, with the arithmetic.
#pragma once

#include <string>

#include "base/available_memory.h"
#include "config/run_config.h"
#include "plan/plan.h"
#include "prepare/device.h"
#include "record/record.h"

namespace laptime {

// The most bytes that a step may hold, and what sets them.
struct MemoryBound {
  int64_t bytes = 0;
  AvailableMemory available;  // --memory-limit, or what is left, of which 95 % may be taken
  std::string text;           // "--memory-limit is 8.00 GiB", "95 % of 24.0 GiB (MemAvailable) are usable"
};

// The tighter of --memory-limit and 95 % of what the device, or for a CPU the machine and its limits, has left.
MemoryBound memory_bound(const RunConfig& config, const Device& device);

// Why the plan needs more than the bound: "predicted: ..." with every part, the bound and `advice` (may be empty).
// Empty: it fits.
std::string memory_shortage(const Plan& plan, const MemoryBound& bound, const std::string& advice);

// "1.92 GiB = parameters 490.7 MiB + ...", by role, the largest first.
std::string memory_arithmetic(const Plan& plan);

// All that the plan knows of its memory before it runs.
MemoryUse forecast_memory(const Plan& plan);

}  // namespace laptime
