// CUDA kernels of GELU.
#pragma once

#include <cmath>

#include "backend/cuda/elementary.h"
#include "backend/cuda/map_elements.h"

namespace laptime::cuda {

// GELU by its definition, y = x Phi(x).
struct GeluErf {
  // Computes Phi(x) with erfc, which is accurate even for small probabilities.
  LAPTIME_DEVICE static float probability(float x) {
    constexpr float kSqrtHalf = 0.7071067811865476F;
    return 0.5F * erfcf(-x * kSqrtHalf);
  }
  LAPTIME_DEVICE static float value(float x) { return x * probability(x); }
  LAPTIME_DEVICE static float slope(float x) {
    constexpr float kDensity = 0.3989422804014327F;  // 1 / sqrt(2 pi)
    return probability(x) + x * (kDensity * expf(-0.5F * x * x));
  }
};

// GELU by its tanh approximation; the formulas are in gelu.cpp. With z = x (kLinear + kCubic x^2), which is twice the
// argument of tanh, y = x sigmoid(z): unlike 1 + tanh, the sigmoid has no cancellation. The code scales z by log2(e),
// so that the sigmoid can use exp2.
struct GeluTanh {
  static constexpr float kLinear = 2 * 0.7978845608028654F;  // 2 sqrt(2 / pi)
  static constexpr float kCubic = kLinear * 0.044715F;

  LAPTIME_DEVICE static float value(float x) {
    return x * fast_sigmoid2(x * fmaf(kLog2E * kCubic, x * x, kLog2E * kLinear));
  }
  LAPTIME_DEVICE static float slope(float x) {
    // For large |x|, the product of the sigmoids below is 0. The bound prevents 0 times infinity, which is NaN.
    const float square = fminf(x * x, 1e30F);
    const float z = x * fmaf(kLog2E * kCubic, square, kLog2E * kLinear);
    // Computes the sigmoids of z and -z from one exponential e, which is at most 1: the larger sigmoid is 1 / (1 + e),
    // the smaller one is e / (1 + e).
    const float e = fast_exp2(-fabsf(z));
    const float larger = fast_reciprocal(1 + e);
    const float smaller = e * larger;
    return fmaf(x * (larger * smaller), fmaf(3 * kCubic, square, kLinear), z < 0 ? smaller : larger);
  }
};

// y = gelu(x). Each form has its own kernel, because erfc takes many registers.
template <class Form>
struct GeluForwardBy {
  using Args = Elements<2>;  // y, x
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    map_elements<1, 1>(thread, args, [](const float(&in)[1], float(&out)[1]) { out[0] = Form::value(in[0]); });
  }
};
using GeluErfForward = GeluForwardBy<GeluErf>;
LAPTIME_CUDA_KERNEL(GeluErfForward, gelu_erf_forward)
using GeluTanhForward = GeluForwardBy<GeluTanh>;
LAPTIME_CUDA_KERNEL(GeluTanhForward, gelu_tanh_forward)

// grad_x = grad_y times the derivative at x
template <class Form>
struct GeluBackwardBy {
  using Args = Elements<3>;  // grad_x, grad_y, x
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    map_elements<1, 2>(thread, args, [](const float(&in)[2], float(&out)[1]) { out[0] = in[0] * Form::slope(in[1]); });
  }
};
using GeluErfBackward = GeluBackwardBy<GeluErf>;
LAPTIME_CUDA_KERNEL(GeluErfBackward, gelu_erf_backward)
using GeluTanhBackward = GeluBackwardBy<GeluTanh>;
LAPTIME_CUDA_KERNEL(GeluTanhBackward, gelu_tanh_backward)

}  // namespace laptime::cuda
