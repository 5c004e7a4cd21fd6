// CUDA kernels of layer norm and of RMSNorm, which has no mean and no bias. The formulas are in norm.h and norm.cpp.
#pragma once

#include <cmath>

#include "backend/cuda/block_sums.h"
#include "backend/cuda/elementary.h"
#include "backend/cuda/part_sums.h"
#include "backend/cuda/row_sums.h"

namespace laptime::cuda {

// One block per row, for any layout.
struct NormForward {
  struct Args {
    DeviceRows x;
    DeviceData weight, bias;  // [columns]; bias is absent in RMSNorm
    int64_t weight_stride, bias_stride;
    DeviceData y;           // contiguous
    DeviceData mean, rstd;  // [rows]; may be absent
    int64_t rows, columns;
    float per_column;  // 1 / columns, by which the pack kernels multiply: a division takes about ten instructions
    float eps;
    bool centred;
    bool in_fours;  // the columns of x, weight, bias and y can be moved in fours
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
LAPTIME_CUDA_KERNEL(NormForward, norm_forward)

// One block per kTogether rows, for columns that can be moved in packs. A block loads all its rows before it uses any,
// so that the loads overlap. kWide: x or y is float32.
template <bool kCentred, bool kWide>
struct NormForwardPacks : RowsInRegisters {
  static constexpr int kTogether = 2;
  using Args = NormForward::Args;
  struct Shared {
    WarpFloats<kTogether> sums, squares;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t first = thread.block() * kTogether;
    const ColumnsOfThread<kWide> columns(thread, args.columns);
    RawEight raw[kTogether];
    RawEight raw_weight;
    RawEight raw_bias;
    if (columns.exist) {
      LAPTIME_UNROLL
      for (int r = 0; r < kTogether; ++r) {
        if (first + r < args.rows) raw[r] = columns.load(thread, args.x, row_at_equal_distance(args.x, first + r));
      }
      raw_weight = columns.load(thread, args.weight, 0);
      if (kCentred) raw_bias = columns.load(thread, args.bias, 0);
    }
    float x[kTogether][kEight];
    LAPTIME_UNROLL
    for (int r = 0; r < kTogether; ++r) columns.values(raw[r], args.x.dtype, x[r]);
    float mean[kTogether] = {};
    if (kCentred) {
      LAPTIME_UNROLL
      for (int r = 0; r < kTogether; ++r) {
        LAPTIME_UNROLL
        for (int i = 0; i < kEight; ++i) mean[r] += x[r][i];
      }
      sum_together(thread, shared.sums, mean);
      LAPTIME_UNROLL
      for (int r = 0; r < kTogether; ++r) mean[r] *= args.per_column;
    }
    float rstd[kTogether] = {};
    if (columns.exist) {
      LAPTIME_UNROLL
      for (int r = 0; r < kTogether; ++r) {
        LAPTIME_UNROLL
        for (int i = 0; i < kEight; ++i) {
          x[r][i] -= mean[r];
          rstd[r] = fmaf(x[r][i], x[r][i], rstd[r]);
        }
      }
    }
    sum_together(thread, shared.squares, rstd);
    float weight[kEight];
    float bias[kEight] = {};
    columns.values(raw_weight, args.weight.dtype, weight);
    if (kCentred) columns.values(raw_bias, args.bias.dtype, bias);
    LAPTIME_UNROLL
    for (int r = 0; r < kTogether; ++r) {
      const int64_t row = first + r;
      if (row >= args.rows) return;
      rstd[r] = fast_rsqrt(rstd[r] * args.per_column + args.eps);
      float y[kEight];
      LAPTIME_UNROLL
      for (int i = 0; i < kEight; ++i) y[i] = x[r][i] * rstd[r] * weight[i] + bias[i];
      if (columns.exist) columns.store(thread, args.y, row * args.columns, y);
      if (thread.index() != 0) continue;
      if (args.mean.data != nullptr) thread.store(args.mean.at<float>(row), mean[r]);
      if (args.rstd.data != nullptr) thread.store(args.rstd.at<float>(row), rstd[r]);
    }
  }
};
using LayerNormForwardPacks = NormForwardPacks<true, false>;
LAPTIME_CUDA_KERNEL(LayerNormForwardPacks, layer_norm_forward_packs)
using LayerNormForwardWidePacks = NormForwardPacks<true, true>;
LAPTIME_CUDA_KERNEL(LayerNormForwardWidePacks, layer_norm_forward_wide_packs)
using RmsNormForwardPacks = NormForwardPacks<false, false>;
LAPTIME_CUDA_KERNEL(RmsNormForwardPacks, rms_norm_forward_packs)
using RmsNormForwardWidePacks = NormForwardPacks<false, true>;
LAPTIME_CUDA_KERNEL(RmsNormForwardWidePacks, rms_norm_forward_wide_packs)

// Shared by all backward kernels; each kernel reads only some of the fields.
struct NormBackwardArgs {
  DeviceRows grad_y, x;
  DeviceRows mean, rstd;  // one element per row; the mean is absent in RMSNorm
  DeviceData weight;      // [columns]
  int64_t weight_stride;
  DeviceRows addend;  // may be absent
  DeviceData grad_x;  // contiguous
  DeviceData grad_weight, grad_bias;
  int64_t rows, columns;
  float per_column;  // 1 / columns
  int64_t parts, rows_per_part;
  // [2, parts, columns]: sums of grad_y xhat, and of grad_y, over each part of the rows. RMSNorm has only the
  // first of the two sums.
  float* partials;
  bool in_fours;  // the columns of grad_y, x, weight, addend and grad_x can be moved in fours

  LAPTIME_DEVICE float mean_of(const Thread& thread, int64_t row) const {
    return mean.data == nullptr ? 0 : load(thread, mean, mean.row(row));
  }
};

// One block per row: grad_x = rstd (g - mean(g) - xhat mean(g xhat)) + addend, with g = grad_y weight; RMSNorm omits
// mean(g). A thread reads grad_y, x and addend in its columns before it writes grad_x there, because grad_x may
// overwrite one of them.
struct NormGradX {
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
    // Calls body with g and xhat for some columns.
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
LAPTIME_CUDA_KERNEL(NormGradX, norm_grad_x)

// One thread per column and part of the rows: computes the sums of grad_y xhat and of grad_y.
struct NormParameterParts {
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
    // The number of rows that a thread loads before it adds them in order.
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
    thread.store(args.partials + part * args.columns + column, static_cast<float>(weight_sum));
    if (args.grad_bias.data == nullptr) return;
    thread.store(args.partials + (args.parts + part) * args.columns + column, static_cast<float>(bias_sum));
  }
};
LAPTIME_CUDA_KERNEL(NormParameterParts, norm_parameter_parts)

// One block per part of the rows, for columns that can be moved in packs. In one pass, computes grad_x of these rows as
// in NormGradX, and their sums for the parameters. Parts are short enough to be summed in float32. A thread reads its
// columns of some rows before it writes grad_x there, because grad_x may overwrite an operand.
template <bool kCentred, bool kWide>
struct NormBackwardPacks : RowsInRegisters {
  // The number of rows that a block keeps in registers. With more rows, fewer blocks could run at the same time.
  static constexpr int kTogether = kWide ? 1 : 2;
  using Args = NormBackwardArgs;
  static constexpr int kSums = kCentred ? 2 * kTogether : kTogether;
  struct Shared {
    // The two buffers are used in turn, so that one barrier per sum is enough.
    WarpFloats<kSums> even, odd;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const ColumnsOfThread<kWide> columns(thread, args.columns);
    float weight[kEight] = {};
    if (columns.exist) columns.values(columns.load(thread, args.weight, 0), args.weight.dtype, weight);
    float weight_sum[kEight] = {};
    float bias_sum[kEight] = {};
    const int64_t begin = thread.block() * args.rows_per_part;
    const int64_t rest = args.rows - begin;
    const auto rows = static_cast<int>(rest < args.rows_per_part ? rest : args.rows_per_part);
    const int lane = thread.index() % kWarp;
    const int warp = thread.index() / kWarp;
    const int last_warp = thread.threads() / kWarp - 1;
    for (int first = 0; first < rows; first += kTogether) {
      RawEight raw_grad[kTogether];
      RawEight raw_x[kTogether];
      RawEight raw_addend[kTogether];
      float mean[kTogether] = {};
      float rstd[kTogether] = {};
      LAPTIME_UNROLL
      for (int r = 0; r < kTogether; ++r) {
        if (first + r >= rows) continue;
        const int64_t row = begin + first + r;
        if (columns.exist) {
          raw_grad[r] = columns.load(thread, args.grad_y, row_at_equal_distance(args.grad_y, row));
          raw_x[r] = columns.load(thread, args.x, row_at_equal_distance(args.x, row));
          if (args.addend.data != nullptr)
            raw_addend[r] = columns.load(thread, args.addend, row_at_equal_distance(args.addend, row));
        }
        if (kCentred) mean[r] = thread.load(args.mean.at<float>(row_at_equal_distance(args.mean, row)));
        rstd[r] = thread.load(args.rstd.at<float>(row_at_equal_distance(args.rstd, row)));
      }
      // Prefetches the next rows while these rows are summed. If possible, a different warp prefetches each operand,
      // because all warps wait for the slowest one.
      if (lane < kTogether && first + kTogether + lane < rows) {
        const int64_t row = begin + first + kTogether + lane;
        if (warp == 0) prefetch_row(thread, args.grad_y, row, args.columns);
        if (warp == (last_warp < 1 ? last_warp : 1)) prefetch_row(thread, args.x, row, args.columns);
        if (args.addend.data != nullptr && warp == (last_warp < 2 ? last_warp : 2))
          prefetch_row(thread, args.addend, row, args.columns);
      }
      float grad[kTogether][kEight];
      float xhat[kTogether][kEight];
      float sums[kSums] = {};  // sums of g xhat and of g, for each row
      LAPTIME_UNROLL
      for (int r = 0; r < kTogether; ++r) {
        columns.values(raw_grad[r], args.grad_y.dtype, grad[r]);
        columns.values(raw_x[r], args.x.dtype, xhat[r]);
        LAPTIME_UNROLL
        for (int i = 0; i < kEight; ++i) {
          xhat[r][i] = (xhat[r][i] - mean[r]) * rstd[r];
          weight_sum[i] = fmaf(grad[r][i], xhat[r][i], weight_sum[i]);
          if (kCentred) bias_sum[i] += grad[r][i];
          grad[r][i] *= weight[i];
          sums[r] = fmaf(grad[r][i], xhat[r][i], sums[r]);
          if (kCentred) sums[kSums - kTogether + r] += grad[r][i];
        }
      }
      sum_together(thread, first % (2 * kTogether) == 0 ? shared.even : shared.odd, sums);
      LAPTIME_UNROLL
      for (int r = 0; r < kTogether; ++r) {
        if (first + r >= rows || !columns.exist) continue;
        const int64_t row = begin + first + r;
        const float product = sums[r] * args.per_column;
        const float sum = kCentred ? sums[kSums - kTogether + r] * args.per_column : 0;
        float grad_x[kEight];
        columns.values(raw_addend[r], args.addend.dtype, grad_x);
        LAPTIME_UNROLL
        for (int i = 0; i < kEight; ++i) grad_x[i] = rstd[r] * (grad[r][i] - sum - xhat[r][i] * product) + grad_x[i];
        columns.store(thread, args.grad_x, row * args.columns, grad_x);
      }
    }
    if (!columns.exist) return;
    const DeviceData partials{reinterpret_cast<std::byte*>(args.partials), DType::kFloat32};
    columns.store(thread, partials, thread.block() * args.columns, weight_sum);
    if (kCentred) columns.store(thread, partials, (args.parts + thread.block()) * args.columns, bias_sum);
  }
};
// The launch bounds limit registers, so that a multiprocessor can run two blocks. Each has 320 threads, enough for rows
// of 2560 columns, or 512 threads for RMSNorm in float32.
using LayerNormBackwardPacks = NormBackwardPacks<true, false>;
LAPTIME_CUDA_KERNEL(LayerNormBackwardPacks, layer_norm_backward_packs, __launch_bounds__(640))
using LayerNormBackwardWidePacks = NormBackwardPacks<true, true>;
LAPTIME_CUDA_KERNEL(LayerNormBackwardWidePacks, layer_norm_backward_wide_packs, __launch_bounds__(640))
using RmsNormBackwardPacks = NormBackwardPacks<false, false>;
LAPTIME_CUDA_KERNEL(RmsNormBackwardPacks, rms_norm_backward_packs, __launch_bounds__(640))
using RmsNormBackwardWidePacks = NormBackwardPacks<false, true>;
LAPTIME_CUDA_KERNEL(RmsNormBackwardWidePacks, rms_norm_backward_wide_packs, __launch_bounds__(1024))

// Adds the partial sums of each column. The first blocks compute grad_weight, the others grad_bias.
struct NormParameterSums {
  using Args = NormBackwardArgs;
  using Shared = PartSums;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const int64_t tiles = (args.columns + PartSums::kColumns - 1) / PartSums::kColumns;
    const bool of_bias = thread.block() >= tiles;
    const int64_t tile = of_bias ? thread.block() - tiles : thread.block();
    const int64_t column = tile * PartSums::kColumns + thread.index() % PartSums::kColumns;
    const float* partials = args.partials + (of_bias ? args.parts * args.columns : 0);
    const double sum = shared.sum(thread, partials, args.parts, args.columns, column);
    if (thread.index() >= PartSums::kColumns || column >= args.columns) return;
    store(thread, of_bias ? args.grad_bias : args.grad_weight, column, sum);
  }
};
LAPTIME_CUDA_KERNEL(NormParameterSums, norm_parameter_sums)

}  // namespace laptime::cuda
