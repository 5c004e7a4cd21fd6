// CUDA kernels of the SwiGLU gate.
#pragma once

#include <cmath>

#include "backend/cuda/tensor.h"

namespace laptime::cuda {

// y = a sigmoid(a) b
struct SwigluForward {
  static constexpr const char* kName = "swiglu_forward";
  using Args = Elements<3>;  // y, a, b
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    for_elements(thread, args, [&](const auto& at) {
      const float a = load(thread, args.operand[1], at.of[1]);
      const float b = load(thread, args.operand[2], at.of[2]);
      store(thread, args.operand[0], at.of[0], a / (1 + expf(-a)) * b);
    });
  }
};

// With s = sigmoid(a): grad_a = grad_y b s (1 + a (1 - s)), grad_b = grad_y a s. All inputs of an element are read
// before an output is written, so that outputs may overwrite inputs.
struct SwigluBackward {
  static constexpr const char* kName = "swiglu_backward";
  using Args = Elements<5>;  // grad_a, grad_b, grad_y, a, b
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const auto& grad_a = args.operand[0];
    const auto& grad_b = args.operand[1];
    const auto& grad_y = args.operand[2];
    const auto& a_data = args.operand[3];
    const auto& b_data = args.operand[4];
    for_elements(thread, args, [&](const auto& at) {
      const float grad = load(thread, grad_y, at.of[2]);
      const float a = load(thread, a_data, at.of[3]);
      const float b = load(thread, b_data, at.of[4]);
      const float s = 1 / (1 + expf(-a));
      store(thread, grad_a, at.of[0], grad * b * (s * (1 + a * (1 - s))));
      store(thread, grad_b, at.of[1], grad * (a * s));
    });
  }
};

}  // namespace laptime::cuda
