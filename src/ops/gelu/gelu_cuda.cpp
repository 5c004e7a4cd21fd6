// Launches the CUDA kernels of GELU.
#include "ops/gelu/gelu_cuda.h"

#include "ops/gelu/gelu.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

void forward(const KernelCall& call) {
  const auto elements = elements_of_call<2>(call.out, call.in);
  call.attributes.as<GeluAttributes>().tanh ? launch_mapped<GeluTanhForward>(call, elements)
                                            : launch_mapped<GeluErfForward>(call, elements);
}
void backward(const KernelCall& call) {
  const auto elements = elements_of_call<3>(call.out, call.in);
  call.attributes.as<GeluAttributes>().tanh ? launch_mapped<GeluTanhBackward>(call, elements)
                                            : launch_mapped<GeluErfBackward>(call, elements);
}

}  // namespace

std::vector<Kernel> gelu_kernels() {
  return {{.op = &kGelu, .name = "elements", .launch = forward},
          {.op = &kGeluNew, .name = "elements", .launch = forward},
          {.op = &kGeluBackward, .name = "elements", .launch = backward}};
}

}  // namespace laptime::cuda
