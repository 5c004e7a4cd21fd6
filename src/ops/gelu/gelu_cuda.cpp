// Launches of GELU on a CUDA device.
#include "ops/gelu/gelu_cuda.h"

#include "ops/gelu/gelu.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

void forward(const KernelCall& call) {
  const Elements<2> elements = elements_of_call<2>(call.out, call.in);
  launch_mapped<GeluForward>(call, elements, {elements, call.attributes.as<GeluAttributes>().tanh});
}
void backward(const KernelCall& call) {
  const Elements<3> elements = elements_of_call<3>(call.out, call.in);
  launch_mapped<GeluBackward>(call, elements, {elements, call.attributes.as<GeluAttributes>().tanh});
}

}  // namespace

std::vector<Kernel> gelu_kernels() {
  return {{.op = &kGelu, .name = "elements", .launch = forward},
          {.op = &kGeluNew, .name = "elements", .launch = forward},
          {.op = &kGeluBackward, .name = "elements", .launch = backward}};
}

}  // namespace laptime::cuda
