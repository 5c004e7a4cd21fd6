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
    DeviceData weight, bias;  // [columns]; bias is absent in RMSNorm
    int64_t weight_stride, bias_stride;
    DeviceData y;           // contiguous
    DeviceData mean, rstd;  // [rows]; may be absent
    int64_t columns;
    float eps;
    bool centred;
    bool in_fours;  // applies to the columns of x, weight, bias and y
  };
  struct Shared {
    WarpParts<float> parts;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t row = args.x.row(thread.block());
    const auto columns = [&](const auto& body) {
      for_columns(thread, args.columns, args.in_fours, [&](int64_t column, int count) {
        float x[kFour];
        load_columns(thread, args.x, row, args.x.column_stride, column, count, x);
        body(column, count, x);
      });
    };
    const auto count_of_row = static_cast<float>(args.columns);
    float mean = 0;
    if (args.centred) {
      columns([&](int64_t, int count, const float(&x)[kFour]) {
        for (int i = 0; i < count; ++i) mean += x[i];
      });
      mean = block_sum(thread, shared.parts, mean) / count_of_row;
    }
    float squares = 0;
    columns([&](int64_t, int count, const float(&x)[kFour]) {
      for (int i = 0; i < count; ++i) squares = fmaf(x[i] - mean, x[i] - mean, squares);
    });
    const float rstd = 1 / sqrtf(block_sum(thread, shared.parts, squares) / count_of_row + args.eps);
    columns([&](int64_t column, int count, const float(&x)[kFour]) {
      float weight[kFour];
      float bias[kFour] = {};
      load_columns(thread, args.weight, 0, args.weight_stride, column, count, weight);
      if (args.bias.data != nullptr) load_columns(thread, args.bias, 0, args.bias_stride, column, count, bias);
      float y[kFour];
      for (int i = 0; i < count; ++i) y[i] = (x[i] - mean) * rstd * weight[i] + bias[i];
      store_columns(thread, args.y, thread.block() * args.columns + column, count, y);
    });
    if (thread.index() != 0) return;
    if (args.mean.data != nullptr) store(thread, args.mean, thread.block(), mean);
    if (args.rstd.data != nullptr) store(thread, args.rstd, thread.block(), rstd);
  }
};

// The operands of the backward op.
struct NormBackwardArgs {
  DeviceRows grad_y, x;
  DeviceRows mean, rstd;  // a row per element; the mean is absent in RMSNorm
  DeviceData weight;      // [columns]
  int64_t weight_stride;
  DeviceRows addend;  // may be absent
  DeviceData grad_x;  // contiguous
  DeviceData grad_weight, grad_bias;
  int64_t rows, columns;
  int64_t parts, rows_per_part;
  double* partials;  // [2, parts, columns]
  bool in_fours;     // applies to the columns of grad_y, x, weight, addend and grad_x

  LAPTIME_DEVICE float mean_of(const Thread& thread, int64_t row) const {
    return mean.data == nullptr ? 0 : load(thread, mean, mean.row(row));
  }
};

// A block per row: grad_x = rstd (g - mean(g) - xhat mean(g xhat)) + addend, with g = grad_y weight; for RMSNorm
// without the mean of g. A block reads its rows of grad_y, x and addend before it writes its row of grad_x, which may
// overwrite one of them.
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
    const int64_t addend_row = args.addend.data == nullptr ? 0 : args.addend.row(thread.block());
    // g and xhat for some columns.
    const auto columns = [&](const auto& body) {
      for_columns(thread, args.columns, args.in_fours, [&](int64_t column, int count) {
        float grad[kFour];
        float xhat[kFour];
        float weight[kFour];
        load_columns(thread, args.grad_y, grad_row, args.grad_y.column_stride, column, count, grad);
        load_columns(thread, args.x, x_row, args.x.column_stride, column, count, xhat);
        load_columns(thread, args.weight, 0, args.weight_stride, column, count, weight);
        for (int i = 0; i < count; ++i) {
          grad[i] *= weight[i];
          xhat[i] = (xhat[i] - mean) * rstd;
        }
        body(column, count, grad, xhat);
      });
    };
    float sum = 0;
    float product = 0;
    columns([&](int64_t, int count, const float(&grad)[kFour], const float(&xhat)[kFour]) {
      for (int i = 0; i < count; ++i) {
        sum += grad[i];
        product = fmaf(grad[i], xhat[i], product);
      }
    });
    const auto count_of_row = static_cast<float>(args.columns);
    product = block_sum(thread, shared.parts, product) / count_of_row;
    sum = args.mean.data == nullptr ? 0 : block_sum(thread, shared.parts, sum) / count_of_row;
    columns([&](int64_t column, int count, const float(&grad)[kFour], const float(&xhat)[kFour]) {
      float addend[kFour] = {};
      if (args.addend.data != nullptr)
        load_columns(thread, args.addend, addend_row, args.addend.column_stride, column, count, addend);
      float grad_x[kFour];
      for (int i = 0; i < count; ++i) grad_x[i] = rstd * (grad[i] - sum - xhat[i] * product) + addend[i];
      store_columns(thread, args.grad_x, thread.block() * args.columns + column, count, grad_x);
    });
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
    // Rows are loaded together and added in order.
    constexpr int kTogether = 8;
    const auto add = [&](float grad, float x, float rstd, float mean) {
      weight_sum += static_cast<double>(grad) * static_cast<double>((x - mean) * rstd);
      bias_sum += static_cast<double>(grad);
    };
    int64_t row = begin;
    for (; row + kTogether <= end; row += kTogether) {
      int64_t grad_at[kTogether];
      int64_t x_at[kTogether];
      LAPTIME_UNROLL
      for (int i = 0; i < kTogether; ++i) {
        grad_at[i] = args.grad_y.row(row + i) + column * args.grad_y.column_stride;
        x_at[i] = args.x.row(row + i) + column * args.x.column_stride;
      }
      float grad[kTogether];
      float x[kTogether];
      load_many(thread, args.grad_y, grad_at, grad);
      load_many(thread, args.x, x_at, x);
      LAPTIME_UNROLL
      for (int i = 0; i < kTogether; ++i)
        add(grad[i], x[i], load(thread, args.rstd, args.rstd.row(row + i)), args.mean_of(thread, row + i));
    }
    for (; row < end; ++row) {
      add(load(thread, args.grad_y, args.grad_y.row(row) + column * args.grad_y.column_stride),
          load(thread, args.x, args.x.row(row) + column * args.x.column_stride),
          load(thread, args.rstd, args.rstd.row(row)), args.mean_of(thread, row));
    }
    thread.store(args.partials + part * args.columns + column, weight_sum);
    thread.store(args.partials + (args.parts + part) * args.columns + column, bias_sum);
  }
};

// A block per kColumns columns, with kLanes threads for each: a thread adds every kLanes-th part in order, and then the
// sums of the lanes are added in order.
struct NormParameterSums {
  static constexpr const char* kName = "norm_parameter_sums";
  static constexpr int kColumns = 32;
  static constexpr int kLanes = 16;
  static constexpr int kThreads = kColumns * kLanes;
  using Args = NormBackwardArgs;
  struct Shared {
    SharedArray<double, kThreads> weight_sums, bias_sums;  // [lane][column]
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int lane = thread.index() / kColumns;
    const int64_t column = thread.block() * kColumns + thread.index() % kColumns;
    double weight_sum = 0;
    double bias_sum = 0;
    if (column < args.columns) {
      for (int64_t part = lane; part < args.parts; part += kLanes) {
        weight_sum += thread.load(args.partials + part * args.columns + column);
        bias_sum += thread.load(args.partials + (args.parts + part) * args.columns + column);
      }
    }
    thread.store(shared.weight_sums, thread.index(), weight_sum);
    thread.store(shared.bias_sums, thread.index(), bias_sum);
    thread.synchronize();
    if (lane != 0 || column >= args.columns) return;
    for (int other = 1; other < kLanes; ++other) {
      weight_sum += thread.load(shared.weight_sums, other * kColumns + thread.index());
      bias_sum += thread.load(shared.bias_sums, other * kColumns + thread.index());
    }
    store(thread, args.grad_weight, column, weight_sum);
    if (args.grad_bias.data != nullptr) store(thread, args.grad_bias, column, bias_sum);
  }
};

}  // namespace laptime::cuda
