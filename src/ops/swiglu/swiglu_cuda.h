// CUDA kernels of the SwiGLU gate.
#pragma once

#include "backend/cuda/elementary.h"
#include "backend/cuda/map_elements.h"

namespace laptime::cuda {

// y = a sigmoid(a) b
struct SwigluForward {
  using Args = Elements<3>;  // y, a, b
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    map_elements<1, 2>(thread, args, [](const float(&in)[2], float(&out)[1]) {
      out[0] = in[0] * fast_sigmoid2(kLog2E * in[0]) * in[1];
    });
  }
};
LAPTIME_CUDA_KERNEL(SwigluForward, swiglu_forward)

// With s = sigmoid(a): grad_a = grad_y b s (1 + a (1 - s)), grad_b = grad_y a s. Outputs may overwrite inputs.
struct SwigluBackward {
  using Args = Elements<5>;  // grad_a, grad_b, grad_y, a, b
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    map_elements<2, 3>(thread, args, [](const float(&in)[3], float(&out)[2]) {
      const float grad = in[0];
      const float a = in[1];
      const float b = in[2];
      const float s = fast_sigmoid2(kLog2E * a);
      out[0] = grad * b * (s * (1 + a * (1 - s)));
      out[1] = grad * (a * s);
    });
  }
};
LAPTIME_CUDA_KERNEL(SwigluBackward, swiglu_backward)

}  // namespace laptime::cuda
