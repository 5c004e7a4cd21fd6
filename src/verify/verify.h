// laptime verify: the run of a golden file made again by our engine, and every comparison with it.
#pragma once

#include <functional>
#include <string>

#include "config/run_config.h"
#include "data/golden.h"
#include "prepare/device.h"
#include "record/verification.h"

namespace laptime {

// Called before each stage ("bfloat16: step 2 of 10"), with the time since the file was begun.
using VerifyProgress = std::function<void(const std::string& stage, Seconds elapsed)>;

// Checks the file for consistency, then runs the case in float32 and bfloat16 and compares losses, logits, gradients
// and weights, in eager mode also dtypes, saved bytes and peaks. Of `machine` only the options of the engine count
// (Option::configures_engine). Error for a device that computes nothing.
VerifiedFile verify_golden(const GoldenCase& golden, const RunConfig& machine, const VerifyProgress& progress = {},
                           const FindDevice& find = find_device);

// Bytes of the constants that PyTorch computes within a step (the causal mask, positions) and laptime in set-up. Module
// buffers, such as RoPE's tables, are not among them: they exist before the step in both.
int64_t constant_bytes_of_step(const Graph& graph);

}  // namespace laptime
