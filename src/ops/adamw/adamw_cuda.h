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

// Reads and writes w, m and v in one pass, and may write a copy of w in another type. In each block, one thread
// computes the coefficients of the step.
template <bool has_copy>
struct AdamUpdateWith {
  static constexpr int64_t kMostBlocks =
      2048;  // as many as a card runs at once; more blocks would only compute the coefficients more often
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
    SharedArray<double, 1> correction2;
  };

  // Computing powers takes longest, so two warps compute one each.
  LAPTIME_DEVICE static double correction(const Thread& thread, const Args& args, double beta) {
    return 1 - pow(beta, load<double>(thread, args.step, 0));
  }
  LAPTIME_DEVICE static AdamNumbers numbers_of(const Thread& thread, const Args& args, double correction1,
                                               double correction2) {
    const auto lr = load<double>(thread, args.lr, 0);
    AdamNumbers numbers{};
    numbers.size = static_cast<float>(args.torch ? lr / correction1 : lr * correction2 / correction1);
    numbers.root_scale = args.torch ? static_cast<float>(1 / correction2) : 1.0F;
    numbers.decay = static_cast<float>(lr * args.weight_decay);
    numbers.skip = args.skip.data != nullptr && load(thread, args.skip, 0) != 0 ? 1.0F : 0.0F;
    return numbers;
  }

  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    if (thread.index() == kWarp) thread.store(shared.correction2, 0, sqrt(correction(thread, args, args.beta2)));
    const double correction1 = thread.index() == 0 ? correction(thread, args, args.beta1) : 0;
    thread.synchronize();
    if (thread.index() == 0)
      thread.store(shared.numbers, 0, numbers_of(thread, args, correction1, thread.load(shared.correction2, 0)));
    thread.synchronize();
    const AdamNumbers numbers = thread.load(shared.numbers, 0);
    if (numbers.skip != 0) return;  // the next values share the bytes of the old ones
    const auto beta1 = static_cast<float>(args.beta1);
    const auto beta2 = static_cast<float>(args.beta2);
    const auto one_minus_beta1 = static_cast<float>(1 - args.beta1);
    const auto one_minus_beta2 = static_cast<float>(1 - args.beta2);
    map_elements<Args::kResults, 4>(thread, args.elements, [&](const float(&in)[4], float(&out)[Args::kResults]) {
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
    });
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
