// CUDA kernels of softmax and log_softmax, with one block per row.
#pragma once

#include <cmath>

#include "backend/cuda/block_sums.h"
#include "backend/cuda/row_sums.h"

namespace laptime::cuda {

// y = exp(x - max) / sum, or x - max - log(sum), where `sum` is the sum of exp(x - max) over the row.
struct SoftmaxForward {
  struct Args {
    DeviceRows x;
    DeviceData y;  // contiguous; may overwrite x
    int64_t columns;
    bool log;
  };
  struct Shared {
    WarpParts<float> parts;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t row = args.x.row(thread.block());
    const auto x = [&](int64_t column) { return load(thread, args.x, row + column * args.x.column_stride); };
    float row_max = -INFINITY;
    for (int64_t column = thread.index(); column < args.columns; column += thread.threads())
      row_max = fmaxf(row_max, x(column));
    row_max = block_max(thread, shared.parts, row_max);
    float row_sum = 0;
    for (int64_t column = thread.index(); column < args.columns; column += thread.threads())
      row_sum += expf(x(column) - row_max);
    row_sum = block_sum(thread, shared.parts, row_sum);
    const float log_sum = args.log ? logf(row_sum) : 0;
    for (int64_t column = thread.index(); column < args.columns; column += thread.threads()) {
      const float shifted = x(column) - row_max;
      const float y = args.log ? shifted - log_sum : expf(shifted) / row_sum;
      store(thread, args.y, thread.block() * args.columns + column, y);
    }
  }
};
LAPTIME_CUDA_KERNEL(SoftmaxForward, softmax_forward)

// SoftmaxForward for rows that can be moved in packs of eight.
struct SoftmaxForwardPacks : RowsInRegisters {
  using Args = SoftmaxForward::Args;
  using Shared = SoftmaxForward::Shared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t column = int64_t{thread.index()} * kEight;
    const bool has_columns = column < args.columns;
    float x[kEight] = {};
    float row_max = -INFINITY;
    if (has_columns) {
      values_of(load_eight(thread, args.x, row_at_equal_distance(args.x, thread.block()) + column), args.x.dtype, x);
      LAPTIME_UNROLL
      for (int i = 0; i < kEight; ++i) row_max = fmaxf(row_max, x[i]);
    }
    row_max = block_max(thread, shared.parts, row_max);
    float row_sum = 0;
    float exponential[kEight] = {};
    if (has_columns) {
      LAPTIME_UNROLL
      for (int i = 0; i < kEight; ++i) {
        x[i] -= row_max;
        exponential[i] = expf(x[i]);
        row_sum += exponential[i];
      }
    }
    row_sum = block_sum(thread, shared.parts, row_sum);
    if (!has_columns) return;
    const float log_sum = args.log ? logf(row_sum) : 0;
    LAPTIME_UNROLL
    for (int i = 0; i < kEight; ++i) x[i] = args.log ? x[i] - log_sum : exponential[i] / row_sum;
    store_eight(thread, args.y, thread.block() * args.columns + column, x);
  }
};
LAPTIME_CUDA_KERNEL(SoftmaxForwardPacks, softmax_forward_packs)

// softmax: grad_x = y (grad_y - sum(grad_y y)); log_softmax: grad_x = grad_y - exp(y) sum(grad_y)
struct SoftmaxBackward {
  struct Args {
    DeviceRows grad_y, y;
    DeviceData grad_x;  // contiguous; may overwrite an input
    int64_t columns;
    bool log;
  };
  struct Shared {
    WarpParts<float> parts;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t grad_row = args.grad_y.row(thread.block());
    const int64_t y_row = args.y.row(thread.block());
    const auto grad_at = [&](int64_t column) {
      return load(thread, args.grad_y, grad_row + column * args.grad_y.column_stride);
    };
    const auto y_at = [&](int64_t column) { return load(thread, args.y, y_row + column * args.y.column_stride); };
    float row_sum = 0;
    for (int64_t column = thread.index(); column < args.columns; column += thread.threads())
      row_sum += args.log ? grad_at(column) : grad_at(column) * y_at(column);
    row_sum = block_sum(thread, shared.parts, row_sum);
    for (int64_t column = thread.index(); column < args.columns; column += thread.threads()) {
      const float grad = grad_at(column);
      const float y = y_at(column);
      const float grad_x = args.log ? grad - expf(y) * row_sum : y * (grad - row_sum);
      store(thread, args.grad_x, thread.block() * args.columns + column, grad_x);
    }
  }
};
LAPTIME_CUDA_KERNEL(SoftmaxBackward, softmax_backward)

// SoftmaxBackward for rows that can be moved in packs of eight.
struct SoftmaxBackwardPacks : RowsInRegisters {
  using Args = SoftmaxBackward::Args;
  using Shared = SoftmaxBackward::Shared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t column = int64_t{thread.index()} * kEight;
    const bool has_columns = column < args.columns;
    float grad[kEight] = {};
    float y[kEight] = {};
    if (has_columns) {
      const RawEight raw_grad =
          load_eight(thread, args.grad_y, row_at_equal_distance(args.grad_y, thread.block()) + column);
      const RawEight raw_y = load_eight(thread, args.y, row_at_equal_distance(args.y, thread.block()) + column);
      values_of(raw_grad, args.grad_y.dtype, grad);
      values_of(raw_y, args.y.dtype, y);
    }
    float row_sum = 0;
    LAPTIME_UNROLL
    for (int i = 0; i < kEight; ++i) row_sum += args.log ? grad[i] : grad[i] * y[i];
    row_sum = block_sum(thread, shared.parts, row_sum);
    if (!has_columns) return;
    LAPTIME_UNROLL
    for (int i = 0; i < kEight; ++i) grad[i] = args.log ? grad[i] - expf(y[i]) * row_sum : y[i] * (grad[i] - row_sum);
    store_eight(thread, args.grad_x, thread.block() * args.columns + column, grad);
  }
};
LAPTIME_CUDA_KERNEL(SoftmaxBackwardPacks, softmax_backward_packs)

}  // namespace laptime::cuda
