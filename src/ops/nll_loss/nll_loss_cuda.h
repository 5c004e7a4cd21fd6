// CUDA kernels of the negative log likelihood.
#pragma once

#include "backend/cuda/block_sums.h"
#include "backend/cuda/tensor.h"

namespace laptime::cuda {

// Runs on one block. Computes loss = -mean(log_p[row, targets[row]]) and total_weight = rows.
struct NllLossForward {
  struct Args {
    DeviceRows log_p, targets;  // one target per row
    DeviceData loss, total_weight;
    int64_t rows;
  };
  struct Shared {
    WarpParts<double> parts;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    double sum = 0;
    for (int64_t row = thread.index(); row < args.rows; row += thread.threads()) {
      const auto target = load<int64_t>(thread, args.targets, args.targets.row(row));
      sum -= load<double>(thread, args.log_p, args.log_p.row(row) + target * args.log_p.column_stride);
    }
    sum = block_sum(thread, shared.parts, sum);
    if (thread.index() != 0) return;
    store(thread, args.loss, 0, sum / static_cast<double>(args.rows));
    store(thread, args.total_weight, 0, args.rows);
  }
};
LAPTIME_CUDA_KERNEL(NllLossForward, nll_loss_forward)

// grad[row, column] = -grad_loss / total_weight if the column is the target, otherwise 0
struct NllLossBackward {
  struct Args {
    DeviceData grad_loss, total_weight;
    DeviceRows targets;
    DeviceData grad;  // contiguous
    int64_t columns, count;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const float slope = -load(thread, args.grad_loss, 0) / load(thread, args.total_weight, 0);
    for_indices(thread, args.count, [&](int64_t at) {
      const int64_t row = at / args.columns;
      const bool hit = at - row * args.columns == load<int64_t>(thread, args.targets, args.targets.row(row));
      store(thread, args.grad, at, hit ? slope : 0.0F);
    });
  }
};
LAPTIME_CUDA_KERNEL(NllLossBackward, nll_loss_backward)

}  // namespace laptime::cuda
