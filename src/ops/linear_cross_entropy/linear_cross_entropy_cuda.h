// CUDA kernel of the bias gradient of a linear layer that is followed by cross entropy.
#pragma once

#include "backend/cuda/tensor.h"

namespace laptime::cuda {

// One thread per column: adds the rows of a chunk to the sums, in order. The first chunk initialises the sums.
struct AddColumnSums {
  struct Args {
    const float* chunk;  // [rows, columns]
    int64_t rows, columns;
    bool is_first;
    double* sums;  // [columns]
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    for_indices(thread, args.columns, [&](int64_t column) {
      double sum = args.is_first ? 0 : thread.load(args.sums + column);
      for (int64_t row = 0; row < args.rows; ++row)
        sum += static_cast<double>(thread.load(args.chunk + row * args.columns + column));
      thread.store(args.sums + column, sum);
    });
  }
};
LAPTIME_CUDA_KERNEL(AddColumnSums, add_column_sums)

}  // namespace laptime::cuda
