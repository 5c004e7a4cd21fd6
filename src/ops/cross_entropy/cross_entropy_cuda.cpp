// Launches the CUDA kernels of cross entropy.
#include "ops/cross_entropy/cross_entropy.h"

#include "ops/cross_entropy/cross_entropy_cuda.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

int64_t workspace(const Signature& signature) { return (Size(signature.in[1].numel()) * 8).value(); }

void forward(const KernelCall& call) {
  const TensorView& logits = call.in[0];
  const int64_t rows = call.in[1].numel();
  auto* const losses = reinterpret_cast<double*>(call.workspace);
  launch<CrossEntropyRows>(
      call, rows, row_threads(columns_of(logits)),
      {rows_of(logits), flat_of(call.in[1]), device_data(call.out[1]), losses, columns_of(logits)});
  launch<MeanLoss>(call, 1, kMaxBlock, {losses, rows, device_data(call.out[0])});
}

void backward(const KernelCall& call) {
  const TensorView& logits = call.in[1];
  launch<CrossEntropyBackward>(call, row_count(logits), CrossEntropyBackward::kThreads,
                               {device_data(call.in[0]), rows_of(logits), flat_of(call.in[2]), flat_of(call.in[3]),
                                rows_of(call.out[0]), columns_of(logits)});
}

}  // namespace

std::vector<Kernel> cross_entropy_kernels() {
  return {{.op = &kCrossEntropy, .name = "rows", .workspace = workspace, .launch = forward},
          {.op = &kCrossEntropyBackward, .name = "elements", .launch = backward}};
}

}  // namespace laptime::cuda
