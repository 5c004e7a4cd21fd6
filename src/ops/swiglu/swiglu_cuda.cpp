// Launches the CUDA kernels of the SwiGLU gate.
#include "ops/swiglu/swiglu_cuda.h"

#include "ops/swiglu/swiglu.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

void forward(const KernelCall& call) { launch_mapped<SwigluForward>(call, elements_of_call<3>(call.out, call.in)); }
void backward(const KernelCall& call) { launch_mapped<SwigluBackward>(call, elements_of_call<5>(call.out, call.in)); }

}  // namespace

std::vector<Kernel> swiglu_kernels() {
  return {{.op = &kSwiglu, .name = "elements", .launch = forward},
          {.op = &kSwigluBackward, .name = "elements", .launch = backward}};
}

}  // namespace laptime::cuda
