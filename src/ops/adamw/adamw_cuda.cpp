// Launches of AdamW on a CUDA device.
#include "ops/adamw/adamw_cuda.h"

#include <algorithm>

#include "ops/adamw/adamw.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

// (w, grad, m, v, step, lr[, skip]) -> (w, m, v)
void update(const KernelCall& call) {
  const auto& a = call.attributes.as<AdamWAttributes>();
  const Elements<7> elements = elements_of_call<7>(call.out, call.in.first(4));
  AdamUpdate::Args args{.elements = elements,
                        .step = device_data(call.in[4]),
                        .lr = device_data(call.in[5]),
                        .skip = {},
                        .beta1 = a.beta1,
                        .beta2 = a.beta2,
                        .weight_decay = a.weight_decay,
                        .eps = static_cast<float>(a.eps),
                        .torch = a.rule == AdamRule::kTorch,
                        .decay_first = a.rule != AdamRule::k2025};
  if (call.in.size() > 6) args.skip = device_data(call.in[6]);
  const int64_t blocks = (mapped_threads(elements) + kElementThreads - 1) / kElementThreads;
  launch<AdamUpdate>(call, std::clamp<int64_t>(blocks, 1, AdamUpdate::kMostBlocks), kElementThreads, args);
}

void step_size(const KernelCall& call) {
  const auto& a = call.attributes.as<AdamWAttributes>();
  launch<AdamStepSize>(call, 1, kWarp,
                       {device_data(call.in[0]), device_data(call.in[1]), device_data(call.out[0]), a.beta1, a.beta2});
}

}  // namespace

std::vector<Kernel> adamw_kernels() {
  return {{.op = &kAdamW, .name = "one_pass", .launch = update},
          {.op = &kAdamStepSize, .name = "number", .launch = step_size}};
}

}  // namespace laptime::cuda
