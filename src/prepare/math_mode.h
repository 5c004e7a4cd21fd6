// The arithmetic of a run in words, from the kernels that it runs.
#pragma once

#include <string>

#include "plan/plan.h"
#include "prepare/device.h"

namespace laptime {

// "float32", "bfloat16 autocast, float32 accumulation", "float32, products of three bfloat16 terms, denormals in
// products are zero", ...: the number type of the products that the plan's kernels compute, and all in which they
// differ from multiply-adds of that type. A device that computes nothing adds ", predicted".
std::string math_mode(const Plan& plan, const Device& device);

}  // namespace laptime
