// Launches of AdamW on a CUDA device.
#include "ops/adamw/adamw_cuda.h"

#include "ops/adamw/adamw.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

// (w, grad, m, v, step, lr[, skip]) -> (w, m, v)
void update(const KernelCall& call) {
  const auto& a = call.attributes.as<AdamWAttributes>();
  auto* const numbers = reinterpret_cast<AdamNumbers*>(call.workspace);
  AdamPrepare::Args prepare{device_data(call.in[4]), device_data(call.in[5]),    {},     a.beta1, a.beta2,
                            a.weight_decay,          a.rule == AdamRule::kTorch, numbers};
  if (call.in.size() > 6) prepare.skip = device_data(call.in[6]);
  launch<AdamPrepare>(call, 1, kWarp, prepare);
  const Elements<7> elements = elements_of_call<7>(call.out, call.in.first(4));
  launch_mapped<AdamUpdate>(
      call, elements,
      {elements, static_cast<float>(a.beta1), static_cast<float>(1 - a.beta1), static_cast<float>(a.beta2),
       static_cast<float>(1 - a.beta2), static_cast<float>(a.eps), a.rule != AdamRule::k2025, numbers});
}

int64_t workspace(const Signature&) { return sizeof(AdamNumbers); }

void step_size(const KernelCall& call) {
  const auto& a = call.attributes.as<AdamWAttributes>();
  launch<AdamStepSize>(call, 1, kWarp,
                       {device_data(call.in[0]), device_data(call.in[1]), device_data(call.out[0]), a.beta1, a.beta2});
}

}  // namespace

std::vector<Kernel> adamw_kernels() {
  return {{.op = &kAdamW, .name = "one_pass", .workspace = workspace, .launch = update},
          {.op = &kAdamStepSize, .name = "number", .launch = step_size}};
}

}  // namespace laptime::cuda
