// CUDA kernels of AdamW.
#pragma once

#include <cmath>

#include "backend/cuda/map_elements.h"

namespace laptime::cuda {

// Coefficients of an AdamW step. The three rules in one form:
//   w -= decay w (2026, torch); w -= size m / (sqrt(v) root_scale + eps); w -= decay w (2025)
struct AdamNumbers {
  float size, root_scale, decay, skip;
};

// Reads and writes w, m and v in one pass. If `has_copy`, also writes w rounded to another type. In each block, one
// warp computes the coefficients of the step while the first elements are loaded.
template <bool has_copy>
struct AdamUpdateWith {
  static constexpr int kGroups = 2;  // groups in flight per thread
  struct Args {
    static constexpr int kResults = 3 + has_copy;
    Elements<kResults + 4> elements;  // [the next copy, ]the next w, m, v; w, grad, m, v
    DeviceData step, lr, skip;        // skip may be absent
    double beta1, beta2, weight_decay;
    float eps;
    bool torch, decay_first;
  };
  struct Shared {
    SharedArray<AdamNumbers, 1> numbers;
  };

  // Called by one warp. The powers take longest, so even lanes compute the power of beta1, and odd lanes the power of
  // beta2.
  LAPTIME_DEVICE static AdamNumbers numbers_of(const Thread& thread, const Args& args) {
    // Starts all loads before converting the learning rate, because the conversion waits for the load.
    const int64_t step = thread.load(args.step.template at<int64_t>(0));
    const bool skips = args.skip.data != nullptr && thread.load(args.skip.template at<uint8_t>(0)) != 0;
    const auto lr = load<double>(thread, args.lr, 0);
    const bool is_odd = thread.index() % 2 != 0;
    const double own = 1 - pow(is_odd ? args.beta2 : args.beta1, static_cast<double>(step));
    const double other = thread.exchange(own, 1);
    const double correction1 = is_odd ? other : own;
    const double correction2 = sqrt(is_odd ? own : other);
    AdamNumbers numbers{};
    numbers.skip = skips ? 1.0F : 0.0F;
    numbers.size = static_cast<float>(args.torch ? lr / correction1 : lr * correction2 / correction1);
    numbers.root_scale = args.torch ? static_cast<float>(1 / correction2) : 1.0F;
    numbers.decay = static_cast<float>(lr * args.weight_decay);
    return numbers;
  }

  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const auto beta1 = static_cast<float>(args.beta1);
    const auto beta2 = static_cast<float>(args.beta2);
    const auto one_minus_beta1 = static_cast<float>(1 - args.beta1);
    const auto one_minus_beta2 = static_cast<float>(1 - args.beta2);
    AdamNumbers numbers{};
    const auto start = [&] {
      if (thread.index() < kWarp) {
        numbers = numbers_of(thread, args);
        if (thread.index() == 0) thread.store(shared.numbers, 0, numbers);
      }
      thread.synchronize();
      numbers = thread.load(shared.numbers, 0);
      return numbers.skip == 0;  // a skipped step must not store: the next values share the bytes of the old ones
    };
    const auto body = [&](const float(&in)[4], float(&out)[Args::kResults]) {
      const float grad = in[1];
      const float m = fmaf(beta1, in[2], one_minus_beta1 * grad);
      const float v = fmaf(beta2, in[3], one_minus_beta2 * grad * grad);
      float w = in[0];
      if (args.decay_first) w = fmaf(-numbers.decay, w, w);
      w -= numbers.size * m / fmaf(sqrtf(v), numbers.root_scale, args.eps);
      if (!args.decay_first) w = fmaf(-numbers.decay, w, w);
      if (has_copy) out[0] = w;
      out[has_copy] = w;
      out[has_copy + 1] = m;
      out[has_copy + 2] = v;
    };
    map_elements_after<kGroups, Args::kResults, 4>(thread, args.elements, start, body);
  }
};
using AdamUpdate = AdamUpdateWith<false>;
LAPTIME_CUDA_KERNEL(AdamUpdate, adam_update)
using AdamUpdateWithCopy = AdamUpdateWith<true>;
LAPTIME_CUDA_KERNEL(AdamUpdateWithCopy, adam_update_with_copy)

// Runs on one thread. Computes lr sqrt(1 - beta2^t) / (1 - beta1^t).
struct AdamStepSize {
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
LAPTIME_CUDA_KERNEL(AdamStepSize, adam_step_size)

}  // namespace laptime::cuda
