// Launches the CUDA kernel of the clipping coefficient.
#include "ops/clip_grad_norm/clip_grad_norm_cuda.h"

#include "ops/clip_grad_norm/clip_grad_norm.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

void launch_coefficient(const KernelCall& call) {
  launch<ClipCoefficient>(call, 1, kWarp,
                          {device_data(call.in[0]), device_data(call.out[0]),
                           call.attributes.as<ClipAttributes>().max_norm, kClipNormEpsilon});
}

}  // namespace

std::vector<Kernel> clip_grad_norm_kernels() {
  return {{.op = &kClipCoefficient, .name = "number", .launch = launch_coefficient}};
}

}  // namespace laptime::cuda
