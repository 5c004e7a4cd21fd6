// Kernels of GELU. The tanh form is computed with the logistic function: 0.5 (1 + tanh(u)) = sigmoid(2 u).
#include "ops/gelu/gelu.h"

#include "backend/cpu/vector/strips.h"
#include "backend/cpu/vector/vector_math.h"

namespace laptime::LAPTIME_ISA {
namespace {

constexpr float kTwiceTanhScale = 1.59576912F;  // 2 sqrt(2 / pi)
constexpr float kTanhCubic = 0.044715F;
constexpr float kDensityScale = 0.398942280F;  // 1 / sqrt(2 pi)

float value_erf(float x) { return x * normal_f32(x).below; }
// Returns -2 u, where u is the argument of tanh.
float tanh_exponent(float x) { return x * (-kTwiceTanhScale - kTwiceTanhScale * kTanhCubic * (x * x)); }
float value_tanh(float x) { return x / (1.0F + exp_f32(tanh_exponent(x))); }

float slope_erf(float x) {
  const Normal normal = normal_f32(x);
  return normal.below + x * (normal.density * kDensityScale);
}
float slope_tanh(float x) {
  const float s = 1.0F / (1.0F + exp_f32(tanh_exponent(x)));
  // s (1 - s) is 0 long before x^2 overflows. The bound keeps their product 0 instead of NaN.
  const float square = x * x < 1e30F ? x * x : 1e30F;
  return s + x * (s * (1.0F - s)) * (kTwiceTanhScale * (1.0F + 3.0F * kTanhCubic * square));
}

template <float (*formula)(float)>
void forward_strip(const Strip& strip) {
  float* y = strip.floats(0);
  const float* x = strip.floats(1);
#pragma omp simd
  for (int64_t i = 0; i < strip.size; ++i) y[i] = formula(x[i]);
}

template <float (*slope)(float)>
void backward_strip(const Strip& strip) {
  float* grad_x = strip.floats(0);
  const float* grad = strip.floats(1);
  const float* x = strip.floats(2);
#pragma omp simd
  for (int64_t i = 0; i < strip.size; ++i) grad_x[i] = grad[i] * slope(x[i]);
}

void launch_forward(const KernelCall& call) {
  const bool tanh = call.attributes.as<GeluAttributes>().tanh;
  run_strips(cpu::team_of(call), call.out, call.in,
             {.function = tanh ? forward_strip<value_tanh> : forward_strip<value_erf>});
}

void launch_backward(const KernelCall& call) {
  const bool tanh = call.attributes.as<GeluAttributes>().tanh;
  run_strips(cpu::team_of(call), call.out, call.in,
             {.function = tanh ? backward_strip<slope_tanh> : backward_strip<slope_erf>});
}

Kernel kernel(const OpCard& op, void (*launch)(const KernelCall&)) {
  return {.op = &op, .name = isa_name("strips"), .supports = pointwise_refusal, .launch = launch};
}

}  // namespace

std::vector<Kernel> gelu_kernels() {
  return {kernel(kGelu, launch_forward), kernel(kGeluNew, launch_forward), kernel(kGeluBackward, launch_backward)};
}

}  // namespace laptime::LAPTIME_ISA
