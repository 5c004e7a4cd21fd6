// CUDA kernels of GELU.
#pragma once

#include <cmath>

#include "backend/cuda/map_elements.h"

namespace laptime::cuda {

// y = x Phi(x), or its tanh approximation; the formulas are in gelu.cpp.
struct GeluForward {
  struct Args {
    Elements<2> elements;  // y, x
    bool tanh;
  };
  using Shared = NothingShared;

  static constexpr float kTanhScale = 0.7978845608028654F;  // sqrt(2 / pi)
  static constexpr float kTanhCubic = 0.044715F;
  static constexpr float kSqrtHalf = 0.7071067811865476F;
  // Twice the argument of tanh. 0.5 (1 + tanh(z)) is the sigmoid of 2 z, which has no cancellation.
  LAPTIME_DEVICE static float argument(float x) { return 2 * kTanhScale * (x + kTanhCubic * x * x * x); }
  LAPTIME_DEVICE static float sigmoid(float x) { return 1 / (1 + expf(-x)); }
  // Phi(x); erfc keeps the digits of small probabilities.
  LAPTIME_DEVICE static float probability(float x) { return 0.5F * erfcf(-x * kSqrtHalf); }

  // Each form has its own loop, so that elements of a thread are not separated by a branch.
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    if (args.tanh) {
      return map_elements<1, 1>(thread, args.elements,
                                [](const float(&in)[1], float(&out)[1]) { out[0] = in[0] * sigmoid(argument(in[0])); });
    }
    map_elements<1, 1>(thread, args.elements,
                       [](const float(&in)[1], float(&out)[1]) { out[0] = in[0] * probability(in[0]); });
  }
};
LAPTIME_CUDA_KERNEL(GeluForward, gelu_forward)

// grad_x = grad_y times the derivative at x
struct GeluBackward {
  struct Args {
    Elements<3> elements;  // grad_x, grad_y, x
    bool tanh;
  };
  using Shared = NothingShared;

  LAPTIME_DEVICE static float slope(float x) {
    constexpr float kDensity = 0.3989422804014327F;  // 1 / sqrt(2 pi)
    return GeluForward::probability(x) + x * (kDensity * expf(-0.5F * x * x));
  }
  LAPTIME_DEVICE static float slope_of_tanh(float x) {
    // Computes both sigmoids from one exponential e, which is at most 1: the one above 1/2 is 1 / (1 + e), the other
    // one is e / (1 + e).
    const float z = GeluForward::argument(x);
    const float e = expf(-fabsf(z));
    const float larger = 1 / (1 + e);
    const float smaller = e * larger;
    const float above = z < 0 ? smaller : larger;
    const float tail = x * (2 * larger * smaller);
    const float inner = GeluForward::kTanhScale * (1 + 3 * GeluForward::kTanhCubic * x * x);
    return above + (tail == 0 ? 0 : tail * inner);  // inner may be infinite if the tail is 0
  }

  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    if (args.tanh) {
      return map_elements<1, 2>(thread, args.elements,
                                [](const float(&in)[2], float(&out)[1]) { out[0] = in[0] * slope_of_tanh(in[1]); });
    }
    map_elements<1, 2>(thread, args.elements,
                       [](const float(&in)[2], float(&out)[1]) { out[0] = in[0] * slope(in[1]); });
  }
};
LAPTIME_CUDA_KERNEL(GeluBackward, gelu_backward)

}  // namespace laptime::cuda
