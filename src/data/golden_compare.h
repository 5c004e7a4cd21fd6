// Compares computed values with a golden file by the rule in tests/golden/README.md, and checks that the file is
// consistent with itself.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/comparison.h"
#include "data/golden.h"

namespace laptime {

// Every `precision` parameter must be one of GoldenCase::precisions(), or tf32; compare_dtype takes only a 16-bit one.

// Loss before update `step` (counted from 0): |loss - truth| / |truth|.
Comparison compare_loss(const GoldenCase& golden, Precision precision, int64_t step, double loss);

// Compares all elements, in row-major order, with a tensor from `golden.keys`: the L2 norm of the difference divided by
// max(norm of the truth, 1e-3 x largest norm in the group). If the case is sampled, the first two norms cover only the
// stored samples. For a gradient that is zero in exact arithmetic, the divisor is the group's largest norm. For a
// gradient with n <= 2 elements, the divisor is at least sqrt(n) times the largest root mean square of a gradient. T is
// float or double.
template <class T>
Comparison compare_tensor(const GoldenCase& golden, Precision precision, const std::string& key,
                          std::span<const T> values);

// A weight element whose true gradient is so small that it is within the tolerance of a float32 gradient. Rounding
// alone decides in which direction AdamW's first step moves such an element, so the element is not compared after
// steps. For a golden file, verify resets it to its true value after the first step. A gradient of zero among larger
// gradients is exact, so its element is not listed.
struct MovedByRounding {
  int64_t position = 0;  // flat index in the whole tensor
  double truth = 0;
};
// Lists the stored elements of "after1/NAME" or "after<steps>/NAME" that rounding has moved; empty for other keys.
std::vector<MovedByRounding> moved_by_rounding(const GoldenCase& golden, const std::string& key);

// Global norm of the gradients before clipping; skipped if the file has none. The tolerance is the largest tolerance of
// a single gradient.
Comparison compare_grad_norm(const GoldenCase& golden, Precision precision, double norm);

// dtype of an intermediate value under autocast, as PyTorch prints it. A name that is not in the file fails.
Comparison compare_dtype(const GoldenCase& golden, Precision precision, const std::string& name,
                         std::string_view dtype);

// Compares the loss scale of step `step` (counted from 0) of a float16 run. The scales must be equal, because the run
// must skip the same steps as PyTorch.
Comparison compare_loss_scale(const GoldenCase& golden, int64_t step, double scale);

// Bytes that eager mode keeps for backward: exact in editions 2025 and 2026, within 2 % in the others.
Comparison compare_saved_bytes(const GoldenCase& golden, Precision precision, int64_t bytes);

// Peak bytes in addition to parameters, batch and RoPE tables, in float32: within 5 %; skipped if the file has none.
Comparison compare_inference_peak(const GoldenCase& golden, int64_t bytes);
Comparison compare_forward_backward_peak(const GoldenCase& golden, int64_t bytes);

// Checks that the file is consistent: weights, tokens, targets and sampled positions with the streams; stated norms
// with tensors; losses, their errors and byte counts with one another. Returns one comparison per check. For the folder
// of a model, checks only that config_v4.json, if any, describes the same model as config.json.
std::vector<Comparison> check_golden_file(const GoldenCase& golden);

}  // namespace laptime
