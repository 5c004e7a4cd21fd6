// Repeats the training run of a golden file and compares the results, for `laptime verify`.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "data/golden.h"
#include "prepare/device.h"
#include "prepare/knowledge.h"
#include "record/verification.h"

namespace laptime {

// Called before each stage ("bfloat16: step 2 of 10"), with the time since verification of the file began.
using VerifyProgress = std::function<void(const std::string& stage, Seconds elapsed)>;

// Selects the kernels to verify. With `known` (stored choices by device_key), uses the kernels that a measurement would
// use: the stored choice for a signature, or else the winner of a trial. Without `known`, the first candidates run.
// With `tf32`, only the float32 run in TF32 arithmetic is compared.
struct VerifyKernels {
  KnowledgeOf known{};
  bool tf32 = false;
};

// Throws Error with the reason if bench would reject the engine options of `machine` for every run of the file, because
// options exclude each other or conflict with the file's clipping or loss scale.
void require_possible(const GoldenCase& golden, const RunConfig& machine, bool tf32 = false);

// Checks the file for consistency, then runs the case in each of the file's number types and compares losses, logits,
// gradients and weights, and in eager mode also dtypes, saved bytes and peak memory. Only options of `machine` with
// Option::configures_engine are used; a number type is skipped if bench would reject these options for it. Throws Error
// if require_possible does, if the device does not compute values, or if the kernels file names no signature of any
// run. If memory is insufficient, `refused` says so.
VerifiedFile verify_golden(const GoldenCase& golden, const RunConfig& machine, const VerifyProgress& progress = {},
                           const FindDevice& find = find_device, const VerifyKernels& kernels = {});

// Bytes of the constants that PyTorch computes in each step and laptime in set-up, such as the causal mask and
// positions. Module buffers, such as the tables of RoPE, are excluded, because both programs have them before the step.
int64_t constant_bytes_of_step(const Graph& graph);

}  // namespace laptime
