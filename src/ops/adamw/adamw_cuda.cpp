// Launches the CUDA kernels of AdamW.
#include "ops/adamw/adamw_cuda.h"

#include "ops/adamw/adamw.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

// ([copy, ]w, grad, m, v, step, lr[, skip]) -> ([copy, ]w, m, v)
template <bool has_copy>
void update(const KernelCall& call) {
  using Update = AdamUpdateWith<has_copy>;
  const auto& a = call.attributes.as<AdamWAttributes>();
  const std::span<const TensorView> in = call.in.subspan(has_copy);
  auto elements = elements_of_call<Update::Args::kResults + 4>(call.out, in.first(4));
  if (elements.groups != Groups::kNone) elements.groups = Groups::kFours;
  typename Update::Args args{.elements = elements,
                             .step = device_data(in[4]),
                             .lr = device_data(in[5]),
                             .skip = {},
                             .beta1 = a.beta1,
                             .beta2 = a.beta2,
                             .weight_decay = a.weight_decay,
                             .eps = static_cast<float>(a.eps),
                             .torch = a.rule == AdamRule::kTorch,
                             .decay_first = a.rule != AdamRule::k2025};
  if (in.size() > 6) args.skip = device_data(in[6]);
  // Each thread takes as many groups as it can keep in flight, because every block recomputes the coefficients.
  const int64_t taken = elements.groups == Groups::kNone ? 1 : kFour * Update::kGroups;
  launch_elements<Update>(call, (elements.count + taken - 1) / taken, args);
}

void step_size(const KernelCall& call) {
  const auto& a = call.attributes.as<AdamWAttributes>();
  launch<AdamStepSize>(call, 1, kWarp,
                       {device_data(call.in[0]), device_data(call.in[1]), device_data(call.out[0]), a.beta1, a.beta2});
}

}  // namespace

std::vector<Kernel> adamw_kernels() {
  return {{.op = &kAdamW, .name = "one_pass", .launch = update<false>},
          {.op = &kAdamWWithCopy, .name = "one_pass", .launch = update<true>},
          {.op = &kAdamStepSize, .name = "number", .launch = step_size}};
}

}  // namespace laptime::cuda
