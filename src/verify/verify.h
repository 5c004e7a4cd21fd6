// laptime verify: the run of a golden file made again by our engine, and every comparison with it.
#pragma once

#include <functional>
#include <string>

#include "config/run_config.h"
#include "data/golden.h"
#include "prepare/device.h"
#include "record/verification.h"

namespace laptime {

// Told what happens next, "bfloat16: step 2 of 10".
using VerifyProgress = std::function<void(const std::string& stage)>;

// Compares the file with itself, then runs the case in float32 and bfloat16 as the options of the engine in `machine`
// say (Option::of_engine; all else in it is ignored): losses, logits, gradients, weights, and in eager mode dtypes,
// bytes saved, peaks. Error for a device that computes nothing.
VerifiedFile verify_golden(const GoldenCase& golden, const RunConfig& machine, const VerifyProgress& progress = {},
                           const FindDevice& find = find_device);

}  // namespace laptime
