// Kernel of the clipping coefficient.
#include "ops/clip_grad_norm/clip_grad_norm.h"

#include "backend/cpu/vector/strips.h"

namespace laptime::LAPTIME_ISA {
namespace {

void launch(const KernelCall& call) {
  float norm = 0;
  load_elements(call.in[0], call.in[0].type.layout.offset, 1, 1, &norm);
  const double ratio = call.attributes.as<ClipAttributes>().max_norm / (static_cast<double>(norm) + kClipNormEpsilon);
  const float coefficient = ratio < 1 ? static_cast<float>(ratio) : 1.0F;
  store_elements(&coefficient, 1, call.out[0], call.out[0].type.layout.offset, 1);
}

}  // namespace

std::vector<Kernel> clip_grad_norm_kernels() {
  return {{.op = &kClipCoefficient, .name = isa_name("number"), .supports = pointwise_refusal, .launch = launch}};
}

}  // namespace laptime::LAPTIME_ISA
