// Pointwise kernels: one float32 loop per op. run_strips handles types, layouts and broadcasting.
#include "ops/pointwise/pointwise.h"

#include "backend/cpu/vector/strips.h"
#include "backend/cpu/vector/vector_math.h"

namespace laptime::LAPTIME_ISA {
namespace {

using Unary = float (*)(float);
using Binary = float (*)(float, float);

template <Unary formula>
void unary_strip(const Strip& strip) {
  float* y = strip.floats(0);
  const float* x = strip.floats(1);
#pragma omp simd
  for (int64_t i = 0; i < strip.size; ++i) y[i] = formula(x[i]);
}

template <Binary formula>
void binary_strip(const Strip& strip) {
  float* y = strip.floats(0);
  const float* a = strip.floats(1);
  const float* b = strip.floats(2);
  if (strip.repeated < 0) {
#pragma omp simd
    for (int64_t i = 0; i < strip.size; ++i) y[i] = formula(a[i], b[i]);
    return;
  }
  for (int64_t begin = 0; begin < strip.size; begin += strip.columns) {
    float* row = y + begin;
    if (strip.repeated == 2) {
      const float value = *b++;
      const float* from = a + begin;
#pragma omp simd
      for (int64_t i = 0; i < strip.columns; ++i) row[i] = formula(from[i], value);
    } else {
      const float value = *a++;
      const float* from = b + begin;
#pragma omp simd
      for (int64_t i = 0; i < strip.columns; ++i) row[i] = formula(value, from[i]);
    }
  }
}

template <Binary formula>
void scalar_strip(const Strip& strip) {
  const float value = *static_cast<const float*>(strip.parameters);
  float* y = strip.floats(0);
  const float* x = strip.floats(1);
#pragma omp simd
  for (int64_t i = 0; i < strip.size; ++i) y[i] = formula(x[i], value);
}

// Computes x^n by repeated squaring; n is the same for all elements.
void pow_strip(const Strip& strip) {
  const auto exponent = static_cast<int>(*static_cast<const float*>(strip.parameters));
  float* y = strip.floats(0);
  const float* x = strip.floats(1);
  constexpr int64_t kGroup = 64;
  for (int64_t begin = 0; begin < strip.size; begin += kGroup) {
    const int64_t size = strip.size - begin < kGroup ? strip.size - begin : kGroup;
    float square[kGroup];
    float result[kGroup];
    for (int64_t i = 0; i < kGroup; ++i) {
      square[i] = i < size ? x[begin + i] : 1.0F;
      result[i] = 1.0F;
    }
    for (unsigned bits = exponent < 0 ? 0U - static_cast<unsigned>(exponent) : static_cast<unsigned>(exponent);
         bits != 0; bits >>= 1U) {
      if ((bits & 1U) != 0) {
        for (int64_t i = 0; i < kGroup; ++i) result[i] *= square[i];
      }
      for (int64_t i = 0; i < kGroup; ++i) square[i] *= square[i];
    }
    for (int64_t i = 0; i < size; ++i) y[begin + i] = exponent < 0 ? 1.0F / result[i] : result[i];
  }
}

void where_strip(const Strip& strip) {
  const float otherwise = *static_cast<const float*>(strip.parameters);
  float* y = strip.floats(0);
  const uint8_t* mask = strip.bytes(1);
  const float* x = strip.floats(2);
#pragma omp simd
  for (int64_t i = 0; i < strip.size; ++i) {
    const float value = x[i];  // loaded for masked elements, too, so that the compiler emits a select, not a branch
    y[i] = mask[i] != 0 ? value : otherwise;
  }
}

template <StripFunction function>
void launch(const KernelCall& call) {
  run_strips(cpu::team_of(call), call.out, call.in, {.function = function});
}

template <Binary formula>
void launch_binary(const KernelCall& call) {
  run_strips(cpu::team_of(call), call.out, call.in, {.function = binary_strip<formula>, .takes_repeated = true});
}

template <StripFunction function>
void launch_with_value(const KernelCall& call) {
  const auto value = static_cast<float>(call.attributes.as<ScalarAttributes>().value);
  run_strips(cpu::team_of(call), call.out, call.in, {.function = function, .parameters = &value});
}

float identity(float x) { return x; }
float square(float x) { return x * x; }
float cube(float x) { return x * x * x; }

void launch_pow(const KernelCall& call) {
  const double exponent = call.attributes.as<ScalarAttributes>().value;
  if (exponent == 1) return launch<unary_strip<identity>>(call);
  if (exponent == 2) return launch<unary_strip<square>>(call);
  if (exponent == 3) return launch<unary_strip<cube>>(call);
  launch_with_value<pow_strip>(call);
}

std::string pow_refusal(const Signature& signature) {
  std::string reason = exponent_refusal(signature);
  return reason.empty() ? pointwise_refusal(signature) : reason;
}

std::string where_refusal(const Signature& signature) {
  if (signature.in[0].dtype != DType::kBool) return "mask is not bool";
  return pointwise_refusal(signature);
}

float add(float a, float b) { return a + b; }
float sub(float a, float b) { return a - b; }
float mul(float a, float b) { return a * b; }
float div(float a, float b) { return a / b; }
float neg(float x) { return -x; }
float square_root(float x) { return __builtin_sqrtf(x); }
float reciprocal_square_root(float x) { return 1.0F / __builtin_sqrtf(x); }
float sigmoid_backward(float grad, float y) { return grad * y * (1.0F - y); }
float silu(float x) { return x / (1.0F + exp_f32(-x)); }
float silu_backward(float grad, float x) {
  const float s = sigmoid_f32(x);
  return grad * (s * (1.0F + x * (1.0F - s)));
}

Kernel kernel(const OpCard& op, void (*launch)(const KernelCall&),
              std::string (*supports)(const Signature&) = pointwise_refusal) {
  return {.op = &op, .name = isa_name("strips"), .supports = supports, .launch = launch};
}

}  // namespace

std::vector<Kernel> pointwise_kernels() {
  return {
      kernel(kAdd, launch_binary<add>),
      kernel(kSub, launch_binary<sub>),
      kernel(kMul, launch_binary<mul>),
      kernel(kDiv, launch_binary<div>),
      kernel(kAddScalar, launch_with_value<scalar_strip<add>>),
      kernel(kMulScalar, launch_with_value<scalar_strip<mul>>),
      kernel(kDivScalar, launch_with_value<scalar_strip<div>>),
      kernel(kPow, launch_pow, pow_refusal),
      kernel(kNeg, launch<unary_strip<neg>>),
      kernel(kExp, launch<unary_strip<exp_f32>>),
      kernel(kLog, launch<unary_strip<log_f32>>),
      kernel(kSqrt, launch<unary_strip<square_root>>),
      kernel(kRsqrt, launch<unary_strip<reciprocal_square_root>>),
      kernel(kSquare, launch<unary_strip<square>>),
      kernel(kSigmoid, launch<unary_strip<sigmoid_f32>>),
      kernel(kSigmoidBackward, launch_binary<sigmoid_backward>),
      kernel(kSilu, launch<unary_strip<silu>>),
      kernel(kSiluBackward, launch_binary<silu_backward>),
      kernel(kWhere, launch_with_value<where_strip>, where_refusal),
  };
}

}  // namespace laptime::LAPTIME_ISA
