// Launches the CUDA kernels of ReLU.
#include "ops/relu/relu_cuda.h"

#include "ops/relu/relu.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

void forward(const KernelCall& call) {
  launch_elements<ReluForward>(call, call.out[0].numel(), elements_of_call<2>(call.out, call.in));
}
void backward(const KernelCall& call) {
  launch_elements<ReluBackward>(call, call.out[0].numel(), elements_of_call<3>(call.out, call.in));
}

}  // namespace

std::vector<Kernel> relu_kernels() {
  return {{.op = &kRelu, .name = "elements", .launch = forward},
          {.op = &kReluBackward, .name = "elements", .launch = backward}};
}

}  // namespace laptime::cuda
