// Launches the CUDA kernels of softmax and log_softmax.
#include "ops/softmax/softmax_cuda.h"

#include "ops/softmax/softmax.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

template <bool log>
void forward(const KernelCall& call) {
  const SoftmaxForward::Args args{rows_of(call.in[0]), device_data(call.out[0]), columns_of(call.in[0]), log};
  const int64_t rows = row_count(call.in[0]);
  if (args.columns <= RowsInRegisters::kMostColumns && has_rows_in_packs(args.x, args.columns) &&
      is_row_in_eights(args.y, 1)) {
    return launch<SoftmaxForwardPacks>(call, rows, RowsInRegisters::threads_for(args.columns), args);
  }
  launch<SoftmaxForward>(call, rows, row_threads(args.columns), args);
}

template <bool log>
void backward(const KernelCall& call) {
  const TensorView& y = call.in[1];
  const SoftmaxBackward::Args args{rows_of(call.in[0]), rows_of(y), device_data(call.out[0]), columns_of(y), log};
  if (args.columns <= RowsInRegisters::kMostColumns && has_rows_in_packs(args.grad_y, args.columns) &&
      has_rows_in_packs(args.y, args.columns) && is_row_in_eights(args.grad_x, 1)) {
    return launch<SoftmaxBackwardPacks>(call, row_count(y), RowsInRegisters::threads_for(args.columns), args);
  }
  launch<SoftmaxBackward>(call, row_count(y), row_threads(args.columns), args);
}

}  // namespace

std::vector<Kernel> softmax_kernels() {
  return {{.op = &kSoftmax, .name = "rows", .launch = forward<false>},
          {.op = &kSoftmaxBackward, .name = "rows", .launch = backward<false>},
          {.op = &kLogSoftmax, .name = "rows", .launch = forward<true>},
          {.op = &kLogSoftmaxBackward, .name = "rows", .launch = backward<true>}};
}

}  // namespace laptime::cuda
