// CUDA kernels of AdamW.
#pragma once

#include <cmath>

#include "backend/cuda/tensor.h"

namespace laptime::cuda {

// What a step multiplies by. The three rules in one form:
//   w -= decay w (2026, torch); w -= size m / (sqrt(v) root_scale + eps); w -= decay w (2025)
struct AdamNumbers {
  float size, root_scale, decay, skip;
};

// One thread: the numbers of step t.
struct AdamPrepare {
  static constexpr const char* kName = "adam_prepare";
  struct Args {
    DeviceData step, lr, skip;  // skip may be absent
    double beta1, beta2, weight_decay;
    bool torch;
    AdamNumbers* numbers;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    if (thread.index() != 0) return;
    const auto t = load<double>(thread, args.step, 0);
    const auto lr = load<double>(thread, args.lr, 0);
    const double correction1 = 1 - pow(args.beta1, t);
    const double correction2 = sqrt(1 - pow(args.beta2, t));
    AdamNumbers numbers{};
    numbers.size = static_cast<float>(args.torch ? lr / correction1 : lr * correction2 / correction1);
    numbers.root_scale = args.torch ? static_cast<float>(1 / correction2) : 1.0F;
    numbers.decay = static_cast<float>(lr * args.weight_decay);
    numbers.skip = args.skip.data != nullptr && load(thread, args.skip, 0) != 0 ? 1.0F : 0.0F;
    thread.store(args.numbers, numbers);
  }
};

// w, m and v read and written in one pass.
struct AdamUpdate {
  static constexpr const char* kName = "adam_update";
  struct Args {
    Elements<7> elements;  // the next w, m, v; w, grad, m, v
    float beta1, one_minus_beta1, beta2, one_minus_beta2, eps;
    bool decay_first;
    const AdamNumbers* numbers;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    const auto& next_w = args.elements.operand[0];
    const auto& next_m = args.elements.operand[1];
    const auto& next_v = args.elements.operand[2];
    const auto& w_data = args.elements.operand[3];
    const auto& grad_data = args.elements.operand[4];
    const auto& m_data = args.elements.operand[5];
    const auto& v_data = args.elements.operand[6];
    const AdamNumbers numbers = thread.load(args.numbers);
    if (numbers.skip != 0) return;  // the next values are in the bytes of the old ones
    for_elements(thread, args.elements, [&](const auto& at) {
      const float grad = load(thread, grad_data, at.of[4]);
      const float m = fmaf(args.beta1, load(thread, m_data, at.of[5]), args.one_minus_beta1 * grad);
      const float v = fmaf(args.beta2, load(thread, v_data, at.of[6]), args.one_minus_beta2 * grad * grad);
      float w = load(thread, w_data, at.of[3]);
      if (args.decay_first) w = fmaf(-numbers.decay, w, w);
      w -= numbers.size * m / fmaf(sqrtf(v), numbers.root_scale, args.eps);
      if (!args.decay_first) w = fmaf(-numbers.decay, w, w);
      store(thread, next_w, at.of[0], w);
      store(thread, next_m, at.of[1], m);
      store(thread, next_v, at.of[2], v);
    });
  }
};

// One thread: lr sqrt(1 - beta2^t) / (1 - beta1^t).
struct AdamStepSize {
  static constexpr const char* kName = "adam_step_size";
  struct Args {
    DeviceData step, lr, size;
    double beta1, beta2;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    if (thread.index() != 0) return;
    const auto t = load<double>(thread, args.step, 0);
    const double size = load<double>(thread, args.lr, 0) * sqrt(1 - pow(args.beta2, t)) / (1 - pow(args.beta1, t));
    store(thread, args.size, 0, size);
  }
};

}  // namespace laptime::cuda
