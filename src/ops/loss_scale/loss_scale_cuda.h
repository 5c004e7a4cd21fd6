// CUDA kernels of loss scaling.
#pragma once

#include <cmath>

#include "backend/cuda/block_sums.h"
#include "backend/cuda/tensor.h"

namespace laptime::cuda {

// y = grad / scale. Each block also records whether it saw an element that is not finite.
struct UnscaleGradient {
  struct Args {
    Elements<2> elements;  // y, grad
    DeviceData scale;
    int* seen;  // [blocks]
  };
  struct Shared {
    WarpParts<int> parts;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    const float factor = 1 / load(thread, args.scale, 0);
    int seen = 0;
    for_elements(thread, args.elements, [&](const auto& at) {
      const float grad = load(thread, args.elements.operand[1], at.of[1]);
      if (!(fabsf(grad) < INFINITY)) seen = 1;
      store(thread, args.elements.operand[0], at.of[0], grad * factor);
    });
    seen = block_sum(thread, shared.parts, seen);
    if (thread.index() == 0) thread.store(args.seen + thread.block(), seen);
  }
};
LAPTIME_CUDA_KERNEL(UnscaleGradient, unscale_gradient)

// Runs on one block. found_inf is true if any block saw an element that is not finite, or if `before` is true.
struct CombineFoundInf {
  struct Args {
    const int* seen;  // [count]
    int64_t count;
    DeviceData before, found_inf;
  };
  struct Shared {
    WarpParts<int> parts;
  };
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared& shared) {
    int seen = 0;
    for (int64_t at = thread.index(); at < args.count; at += thread.threads()) seen |= thread.load(args.seen + at);
    seen = block_sum(thread, shared.parts, seen != 0 ? 1 : 0);
    if (thread.index() != 0) return;
    store(thread, args.found_inf, 0, seen != 0 || load(thread, args.before, 0) != 0 ? 1 : 0);
  }
};
LAPTIME_CUDA_KERNEL(CombineFoundInf, combine_found_inf)

// Runs on one thread. Increments the count of applied steps unless found_inf.
struct CountApplied {
  struct Args {
    DeviceData applied, found_inf, next;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    if (thread.index() != 0) return;
    const int64_t more = load(thread, args.found_inf, 0) != 0 ? 0 : 1;
    store(thread, args.next, 0, load<int64_t>(thread, args.applied, 0) + more);
  }
};
LAPTIME_CUDA_KERNEL(CountApplied, count_applied)

// Runs on one thread. Computes the next scale and the count of good steps.
struct UpdateLossScale {
  struct Args {
    DeviceData scale, good_steps, found_inf, next_scale, next_good_steps;
    double growth_factor, backoff_factor;
    int64_t growth_interval;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    if (thread.index() != 0) return;
    const auto scale = load<double>(thread, args.scale, 0);
    const int64_t good_steps = load<int64_t>(thread, args.good_steps, 0) + 1;
    const bool found = load(thread, args.found_inf, 0) != 0;
    const bool grows = !found && good_steps == args.growth_interval;
    const auto grown = static_cast<double>(static_cast<float>(scale * args.growth_factor));
    const bool finite = fabs(grown) < static_cast<double>(INFINITY);
    store(thread, args.next_scale, 0, found ? scale * args.backoff_factor : grows && finite ? grown : scale);
    store(thread, args.next_good_steps, 0, found || grows ? int64_t{0} : good_steps);
  }
};
LAPTIME_CUDA_KERNEL(UpdateLossScale, update_loss_scale)

// Sets the state to the value unless skip. The output shares the bytes of the state.
struct AssignUnless {
  struct Args {
    Elements<2> elements;  // state, value
    DeviceData skip;
  };
  using Shared = NothingShared;
  LAPTIME_DEVICE static void run(const Thread& thread, const Args& args, Shared&) {
    if (load(thread, args.skip, 0) != 0) return;
    for_elements(thread, args.elements, [&](const auto& at) {
      store(thread, args.elements.operand[0], at.of[0], load<double>(thread, args.elements.operand[1], at.of[1]));
    });
  }
};
LAPTIME_CUDA_KERNEL(AssignUnless, assign_unless)

}  // namespace laptime::cuda
