// Memory predicted before it is taken, with the arithmetic, and what was held in the end.
#pragma once

#include "base/available_memory.h"
#include "plan/plan.h"
#include "record/record.h"
#include "run/make_backend.h"

namespace laptime {

// Fills the predicted bytes; throws OutOfMemory, saying "predicted: ..." with every part, where they do not fit into
// 95 % of what the device, or for a CPU the machine and its limits, has left, or into `limit` (0: none).
void check_memory(const Plan& plan, const Device& device, int64_t limit, Record& record);

// 95 % of it.
int64_t usable_of(const AvailableMemory& available);

// What the device has, or for a CPU what the machine and its limits have left.
AvailableMemory memory_left(const Device& device);

// "1.92 GiB = parameters 490.7 MiB + ...", by role, the largest first.
std::string memory_arithmetic(const Plan& plan);

// Predicted, held and resident bytes of a plan that has run.
void fill_memory(const Plan& plan, const Backend& backend, Record& record);

}  // namespace laptime
