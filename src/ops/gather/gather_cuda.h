// CUDA kernels of gather and scatter along the last axis.
#pragma once

#include "backend/cuda/tensor.h"

namespace laptime::cuda {

// out[row] = x[row, index[row]]
struct GatherRows {
  struct Args {
    DeviceRows x;
    DeviceRows index;  // one index per row
    DeviceData out;
    int64_t rows;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    for_indices(thread, args.rows, [&](int64_t row) {
      const auto column = load<int64_t>(thread, args.index, args.index.row(row));
      store(thread, args.out, row, load(thread, args.x, args.x.row(row) + column * args.x.column_stride));
    });
  }
};
LAPTIME_CUDA_KERNEL(GatherRows, gather_rows)

// out[row, column] = grad[row] if the column is index[row], otherwise 0
struct ScatterRows {
  struct Args {
    DeviceRows grad;   // one element per row
    DeviceRows index;  // one index per row
    DeviceData out;    // [rows, columns]
    int64_t columns;
    int64_t groups;  // groups have four columns if in_fours, otherwise one
    bool in_fours;   // result of has_rows_in_fours()
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const int size = args.in_fours ? kFour : 1;
    for_indices(thread, args.groups, [&](int64_t group) {
      const int64_t first = group * size;
      const int64_t row = quotient(first, args.columns);
      const int64_t hit = row * args.columns + load<int64_t>(thread, args.index, args.index.row(row)) - first;
      float values[kFour] = {};
      if (hit >= 0 && hit < size) {
        const float grad = load(thread, args.grad, args.grad.row(row));
        LAPTIME_UNROLL
        for (int i = 0; i < kFour; ++i) values[i] = i == hit ? grad : 0.0F;
      }
      store_columns(thread, args.out, first, size, values);
    });
  }
};
LAPTIME_CUDA_KERNEL(ScatterRows, scatter_rows)

}  // namespace laptime::cuda
