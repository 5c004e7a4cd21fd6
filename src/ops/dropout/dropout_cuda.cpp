// Launches the CUDA kernels of dropout.
#include "ops/dropout/dropout_cuda.h"

#include "ops/dropout/dropout.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

void forward(const KernelCall& call) {
  const auto& attributes = call.attributes.as<DropoutAttributes>();
  const int64_t count = call.in[0].numel();
  launch_elements<DropoutForward>(call, count,
                                  {.x = flat_of(call.in[0]),
                                   .step = flat_of(call.in[1]),
                                   .y = device_data(call.out[0]),
                                   .mask = device_data(call.out[1]),
                                   .count = count,
                                   .counter = attributes.counter(),
                                   .threshold = dropout_threshold(attributes.p),
                                   .scale = static_cast<float>(dropout_scale(attributes.p))});
}

void backward(const KernelCall& call) {
  const auto scale = static_cast<float>(dropout_scale(call.attributes.as<DropoutAttributes>().p));
  launch_elements<DropoutBackward>(call, call.out[0].numel(), {elements_of_call<3>(call.out, call.in), scale});
}

}  // namespace

std::vector<Kernel> dropout_kernels() {
  return {{.op = &kDropout, .name = "counter", .launch = forward},
          {.op = &kDropoutBackward, .name = "elements", .launch = backward}};
}

}  // namespace laptime::cuda
