// Kernels of ReLU.
#include "ops/relu/relu.h"

#include "backend/cpu/vector/strips.h"

namespace laptime::LAPTIME_ISA {
namespace {

void forward_strip(const Strip& strip) {
  float* y = strip.floats(0);
  const float* x = strip.floats(1);
#pragma omp simd
  for (int64_t i = 0; i < strip.size; ++i) y[i] = x[i] < 0.0F ? 0.0F : x[i];
}

void backward_strip(const Strip& strip) {
  float* grad_x = strip.floats(0);
  const float* grad = strip.floats(1);
  const float* y = strip.floats(2);
#pragma omp simd
  for (int64_t i = 0; i < strip.size; ++i) grad_x[i] = y[i] > 0.0F ? grad[i] : 0.0F;
}

template <StripFunction function>
void launch(const KernelCall& call) {
  run_strips(cpu::team_of(call), call.out, call.in, {.function = function});
}

}  // namespace

std::vector<Kernel> relu_kernels() {
  return {{.op = &kRelu, .name = isa_name("strips"), .supports = pointwise_refusal, .launch = launch<forward_strip>},
          {.op = &kReluBackward,
           .name = isa_name("strips"),
           .supports = pointwise_refusal,
           .launch = launch<backward_strip>}};
}

}  // namespace laptime::LAPTIME_ISA
