// CUDA kernels of layer norm and RMSNorm, which has no mean and no bias. The formulas are in norm.h and norm.cpp.
#pragma once

#include <cmath>

#include "backend/cuda/block_sums.h"
#include "backend/cuda/tensor.h"

namespace laptime::cuda {

// A block per row.
struct NormForward {
  static constexpr const char* kName = "norm_forward";
  struct Args {
    DeviceRows x;
    DeviceRows weight, bias;  // [columns], a row per element; bias is absent in RMSNorm
    DeviceData y;             // contiguous
    DeviceData mean, rstd;    // [rows]; may be absent
    int64_t columns;
    float eps;
    bool centred;
  };
  struct Shared {
    WarpParts<float> parts;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t row = args.x.row(thread.block());
    const auto x = [&](int64_t column) { return load(thread, args.x, row + column * args.x.column_stride); };
    const auto count = static_cast<float>(args.columns);
    float mean = 0;
    if (args.centred) {
      for (int64_t column = thread.index(); column < args.columns; column += thread.threads()) mean += x(column);
      mean = block_sum(thread, shared.parts, mean) / count;
    }
    float squares = 0;
    for (int64_t column = thread.index(); column < args.columns; column += thread.threads()) {
      const float centred = x(column) - mean;
      squares = fmaf(centred, centred, squares);
    }
    const float rstd = 1 / sqrtf(block_sum(thread, shared.parts, squares) / count + args.eps);
    for (int64_t column = thread.index(); column < args.columns; column += thread.threads()) {
      const float scaled = (x(column) - mean) * rstd * load(thread, args.weight, args.weight.row(column));
      const float bias = args.bias.data == nullptr ? 0 : load(thread, args.bias, args.bias.row(column));
      store(thread, args.y, thread.block() * args.columns + column, scaled + bias);
    }
    if (thread.index() != 0) return;
    if (args.mean.data != nullptr) store(thread, args.mean, thread.block(), mean);
    if (args.rstd.data != nullptr) store(thread, args.rstd, thread.block(), rstd);
  }
};

// The operands of the backward op.
struct NormBackwardArgs {
  DeviceRows grad_y, x;
  DeviceRows mean, rstd;  // a row per element; the mean is absent in RMSNorm
  DeviceRows weight;      // [columns], a row per element
  DeviceRows addend;      // may be absent
  DeviceData grad_x;      // contiguous
  DeviceData grad_weight, grad_bias;
  int64_t rows, columns;
  int64_t parts, rows_per_part;
  double* partials;  // [2, parts, columns]

  LAPTIME_DEVICE float mean_of(const Thread& thread, int64_t row) const {
    return mean.data == nullptr ? 0 : load(thread, mean, mean.row(row));
  }
};

// A block per row: grad_x = rstd (g - mean(g) - xhat mean(g xhat)) + addend, with g = grad_y weight; RMSNorm without
// the mean of g. A block reads its rows of grad_y, x and addend before it writes that of grad_x, which may overwrite
// one.
struct NormGradX {
  static constexpr const char* kName = "norm_grad_x";
  using Args = NormBackwardArgs;
  struct Shared {
    WarpParts<float> parts;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t grad_row = args.grad_y.row(thread.block());
    const int64_t x_row = args.x.row(thread.block());
    const float mean = args.mean_of(thread, thread.block());
    const float rstd = load(thread, args.rstd, args.rstd.row(thread.block()));
    const auto grad_at = [&](int64_t column) {
      return load(thread, args.grad_y, grad_row + column * args.grad_y.column_stride) *
             load(thread, args.weight, args.weight.row(column));
    };
    const auto xhat_at = [&](int64_t column) {
      return (load(thread, args.x, x_row + column * args.x.column_stride) - mean) * rstd;
    };
    float sum = 0;
    float product = 0;
    for (int64_t column = thread.index(); column < args.columns; column += thread.threads()) {
      const float grad = grad_at(column);
      sum += grad;
      product = fmaf(grad, xhat_at(column), product);
    }
    const auto count = static_cast<float>(args.columns);
    product = block_sum(thread, shared.parts, product) / count;
    sum = args.mean.data == nullptr ? 0 : block_sum(thread, shared.parts, sum) / count;
    const int64_t addend_row = args.addend.data == nullptr ? 0 : args.addend.row(thread.block());
    for (int64_t column = thread.index(); column < args.columns; column += thread.threads()) {
      float grad_x = rstd * (grad_at(column) - sum - xhat_at(column) * product);
      if (args.addend.data != nullptr)
        grad_x += load(thread, args.addend, addend_row + column * args.addend.column_stride);
      store(thread, args.grad_x, thread.block() * args.columns + column, grad_x);
    }
  }
};

// A thread per column and part of the rows: sums of grad_y xhat and of grad_y.
struct NormParameterParts {
  static constexpr const char* kName = "norm_parameter_parts";
  using Args = NormBackwardArgs;
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const int64_t part = thread.block() % args.parts;
    const int64_t column = thread.block() / args.parts * thread.threads() + thread.index();
    if (column >= args.columns) return;
    const int64_t begin = part * args.rows_per_part;
    const int64_t end = begin + args.rows_per_part < args.rows ? begin + args.rows_per_part : args.rows;
    double weight_sum = 0;
    double bias_sum = 0;
    for (int64_t row = begin; row < end; ++row) {
      const float grad = load(thread, args.grad_y, args.grad_y.row(row) + column * args.grad_y.column_stride);
      const float x = load(thread, args.x, args.x.row(row) + column * args.x.column_stride);
      const float rstd = load(thread, args.rstd, args.rstd.row(row));
      weight_sum += static_cast<double>(grad) * static_cast<double>((x - args.mean_of(thread, row)) * rstd);
      bias_sum += static_cast<double>(grad);
    }
    thread.store(args.partials + part * args.columns + column, weight_sum);
    thread.store(args.partials + (args.parts + part) * args.columns + column, bias_sum);
  }
};

// A thread per column: adds the parts in their order.
struct NormParameterSums {
  static constexpr const char* kName = "norm_parameter_sums";
  using Args = NormBackwardArgs;
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const int64_t column = thread.block() * thread.threads() + thread.index();
    if (column >= args.columns) return;
    double weight_sum = 0;
    double bias_sum = 0;
    for (int64_t part = 0; part < args.parts; ++part) {
      weight_sum += thread.load(args.partials + part * args.columns + column);
      bias_sum += thread.load(args.partials + (args.parts + part) * args.columns + column);
    }
    store(thread, args.grad_weight, column, weight_sum);
    if (args.grad_bias.data != nullptr) store(thread, args.grad_bias, column, bias_sum);
  }
};

}  // namespace laptime::cuda
