// Kernels of the SwiGLU gate: one pass each way.
#include "ops/swiglu/swiglu.h"

#include "backend/cpu/strips.h"
#include "backend/cpu/vector_math.h"

namespace laptime::LAPTIME_ISA {
namespace {

void forward_strip(const Strip& strip) {
  float* y = strip.floats(0);
  const float* a = strip.floats(1);
  const float* b = strip.floats(2);
#pragma omp simd
  for (int64_t i = 0; i < strip.size; ++i) y[i] = a[i] / (1.0F + exp_f32(-a[i])) * b[i];
}

void backward_strip(const Strip& strip) {
  float* grad_a = strip.floats(0);
  float* grad_b = strip.floats(1);
  const float* grad = strip.floats(2);
  const float* a = strip.floats(3);
  const float* b = strip.floats(4);
#pragma omp simd
  for (int64_t i = 0; i < strip.size; ++i) {
    const float x = a[i];
    const float g = grad[i];
    const float s = sigmoid_f32(x);
    grad_a[i] = g * b[i] * (s * (1.0F + x * (1.0F - s)));
    grad_b[i] = g * (x * s);
  }
}

Kernel kernel(const OpCard& op, void (*launch)(const KernelCall&)) {
  return {.op = &op, .name = isa_name("strips"), .supports = pointwise_refusal, .workspace = nullptr, .launch = launch};
}

}  // namespace

std::vector<Kernel> swiglu_kernels() {
  return {kernel(kSwiglu,
                 [](const KernelCall& call) {
                   run_strips(cpu::team_of(call), call.out, call.in, {.function = forward_strip});
                 }),
          kernel(kSwigluBackward, [](const KernelCall& call) {
            run_strips(cpu::team_of(call), call.out, call.in, {.function = backward_strip});
          })};
}

}  // namespace laptime::LAPTIME_ISA
