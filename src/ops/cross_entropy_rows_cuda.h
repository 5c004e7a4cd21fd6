// CUDA kernels of cross entropy, for the ops that compute it, of all rows or of a chunk of them. The log-sum-exp is
// float64, because its rounding error enters every probability of a row.
#pragma once

#include <cmath>

#include "backend/cuda/block_sums.h"
#include "backend/cuda/tensor.h"

namespace laptime::cuda {

// A block per row of `logits`, which are rows `first_row` and following of the other operands:
//   log_sum_exp = log(sum(exp(logits))), loss = log_sum_exp - logits[target]
struct CrossEntropyRows {
  static constexpr const char* kName = "cross_entropy_rows";
  struct Args {
    DeviceRows logits, targets;  // a target is a row
    DeviceData log_sum_exp;      // [rows]; may be absent
    double* losses;              // [rows]
    int64_t columns;
    int64_t first_row = 0;
  };
  struct Shared {
    WarpParts<float> maxima;
    WarpParts<double> sums;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t row = args.logits.row(thread.block());
    const auto logit = [&](int64_t column) {
      return load(thread, args.logits, row + column * args.logits.column_stride);
    };
    float row_max = -INFINITY;
    for (int64_t column = thread.index(); column < args.columns; column += thread.threads())
      row_max = fmaxf(row_max, logit(column));
    row_max = block_max(thread, shared.maxima, row_max);
    const float shift = fabsf(row_max) == INFINITY ? 0 : row_max;  // avoids inf - inf
    double row_sum = 0;
    for (int64_t column = thread.index(); column < args.columns; column += thread.threads())
      row_sum += static_cast<double>(expf(logit(column) - shift));
    row_sum = block_sum(thread, shared.sums, row_sum);
    if (thread.index() != 0) return;
    const double log_sum_exp = static_cast<double>(shift) + log(row_sum);
    const int64_t operand_row = args.first_row + thread.block();
    const auto target = load<int64_t>(thread, args.targets, args.targets.row(operand_row));
    thread.store(args.losses + operand_row, log_sum_exp - static_cast<double>(logit(target)));
    if (args.log_sum_exp.data != nullptr) store(thread, args.log_sum_exp, operand_row, log_sum_exp);
  }
};

// One block: the mean of the rows' losses.
struct MeanLoss {
  static constexpr const char* kName = "mean_loss";
  struct Args {
    const double* losses;  // [rows]
    int64_t rows;
    DeviceData loss;
  };
  struct Shared {
    WarpParts<double> parts;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    double sum = 0;
    for (int64_t row = thread.index(); row < args.rows; row += thread.threads()) sum += thread.load(args.losses + row);
    sum = block_sum(thread, shared.parts, sum);
    if (thread.index() == 0) store(thread, args.loss, 0, sum / static_cast<double>(args.rows));
  }
};

// grad = (exp(logit - log_sum_exp) - onehot) grad_loss / mean_rows; may overwrite the logits. Row 0 of the logits is
// row `first_row` of targets and log_sum_exp.
struct CrossEntropyBackward {
  static constexpr const char* kName = "cross_entropy_backward";
  struct Args {
    DeviceData grad_loss;
    DeviceRows logits, targets, log_sum_exp;  // the latter two: a row per element
    DeviceData grad;                          // contiguous
    int64_t columns, rows;                    // of the logits
    int64_t mean_rows;                        // over how many rows the loss is the mean
    int64_t first_row = 0;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const float scale = load(thread, args.grad_loss, 0) / static_cast<float>(args.mean_rows);
    for_indices(thread, args.rows * args.columns, [&](int64_t at) {
      const int64_t row = at / args.columns;
      const int64_t column = at - row * args.columns;
      const auto logit = load<double>(thread, args.logits, args.logits.row(row) + column * args.logits.column_stride);
      const auto log_sum_exp = load<double>(thread, args.log_sum_exp, args.log_sum_exp.row(args.first_row + row));
      const float probability = expf(static_cast<float>(logit - log_sum_exp));
      const bool hit = column == load<int64_t>(thread, args.targets, args.targets.row(args.first_row + row));
      store(thread, args.grad, at, (probability - (hit ? 1.0F : 0.0F)) * scale);
    });
  }
};

}  // namespace laptime::cuda
