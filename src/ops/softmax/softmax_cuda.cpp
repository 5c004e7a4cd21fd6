// Launches of softmax and log_softmax on a CUDA device.
#include "ops/softmax/softmax_cuda.h"

#include "ops/softmax/softmax.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

template <bool log>
void forward(const KernelCall& call) {
  const TensorView& x = call.in[0];
  launch<SoftmaxForward>(call, row_count(x), row_threads(columns_of(x)),
                         {rows_of(x), device_data(call.out[0]), columns_of(x), log});
}

template <bool log>
void backward(const KernelCall& call) {
  const TensorView& y = call.in[1];
  launch<SoftmaxBackward>(call, row_count(y), row_threads(columns_of(y)),
                          {rows_of(call.in[0]), rows_of(y), device_data(call.out[0]), columns_of(y), log});
}

}  // namespace

std::vector<Kernel> softmax_kernels() {
  return {{.op = &kSoftmax, .name = "rows", .launch = forward<false>},
          {.op = &kSoftmaxBackward, .name = "rows", .launch = backward<false>},
          {.op = &kLogSoftmax, .name = "rows", .launch = forward<true>},
          {.op = &kLogSoftmaxBackward, .name = "rows", .launch = backward<true>}};
}

}  // namespace laptime::cuda
