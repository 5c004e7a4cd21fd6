// Comparison of computed values with a golden file by the rule of tests/golden/README.md, and the checks that the file
// is consistent with itself.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/comparison.h"
#include "data/golden.h"

namespace laptime {

// All `precision` parameters are among those of GoldenCase::precisions().

// Loss before update `step` (from 0): |loss - truth| / |truth|.
Comparison compare_loss(const GoldenCase& golden, Precision precision, int64_t step, double loss);

// A tensor of `golden.keys`, all its elements row-major: L2 norm of the difference over max(norm of the truth, 1e-3 x
// the largest norm of the group), both over the stored samples where the case is sampled. The difference of a gradient
// that is zero in exact arithmetic is divided by the largest norm of the group, that of a gradient of one or two
// elements by at least the largest root mean square of a gradient. T is float or double.
template <class T>
Comparison compare_tensor(const GoldenCase& golden, Precision precision, const std::string& key,
                          std::span<const T> values);

// An element of a weight whose true gradient is within the error allowed for an element of a float32 gradient. Rounding
// alone decides in which direction AdamW's first step moves it, so neither the element nor what depends on it is
// compared after steps. Zeros among larger gradients are exact and do not count.
struct MovedByRounding {
  int64_t position = 0;  // flat, in the whole tensor
  double truth = 0;
};
// Those of "after1/NAME" or "after<steps>/NAME" that the file stores.
std::vector<MovedByRounding> moved_by_rounding(const GoldenCase& golden, const std::string& key);

// Global norm of the gradients before clipping; skipped where the file has none. The norm is at most as far off as the
// worst gradient may be.
Comparison compare_grad_norm(const GoldenCase& golden, Precision precision, double norm);

// dtype of an intermediate value under autocast, as PyTorch prints it. A name that the file does not have fails.
Comparison compare_dtype(const GoldenCase& golden, Precision precision, const std::string& name,
                         std::string_view dtype);

// The loss scale of step `step` (from 0) of a float16 run: that of the file exactly, as a step is skipped exactly where
// PyTorch's is.
Comparison compare_loss_scale(const GoldenCase& golden, int64_t step, double scale);

// Bytes that eager mode keeps for backward: exact in editions 2025 and 2026, within 2 % in the others.
Comparison compare_saved_bytes(const GoldenCase& golden, Precision precision, int64_t bytes);

// Most bytes held beyond parameters, batch and tables, in float32: within 5 %; skipped where the file has none.
Comparison compare_inference_peak(const GoldenCase& golden, int64_t bytes);
Comparison compare_forward_backward_peak(const GoldenCase& golden, int64_t bytes);

// Consistency of the file with itself: weights, tokens, targets and sampled places with the streams; stated norms
// with tensors; losses, their errors and byte counts with one another. One comparison each.
std::vector<Comparison> check_golden_file(const GoldenCase& golden);

}  // namespace laptime
