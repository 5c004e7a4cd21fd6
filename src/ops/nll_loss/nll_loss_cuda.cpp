// Launches the CUDA kernels of the negative log likelihood.
#include "ops/nll_loss/nll_loss_cuda.h"

#include "ops/nll_loss/nll_loss.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

void forward(const KernelCall& call) {
  launch<NllLossForward>(call, 1, kMaxBlock,
                         {rows_of(call.in[0]), flat_of(call.in[1]), device_data(call.out[0]), device_data(call.out[1]),
                          call.in[1].numel()});
}

void backward(const KernelCall& call) {
  const TensorView& grad = call.out[0];
  launch_elements<NllLossBackward>(call, grad.numel(),
                                   {device_data(call.in[0]), device_data(call.in[3]), flat_of(call.in[2]),
                                    device_data(grad), columns_of(grad), grad.numel()});
}

}  // namespace

std::vector<Kernel> nll_loss_kernels() {
  return {{.op = &kNllLoss, .name = "block", .launch = forward},
          {.op = &kNllLossBackward, .name = "elements", .launch = backward}};
}

}  // namespace laptime::cuda
