// Launches the CUDA kernels of loss scaling.
#include "ops/loss_scale/loss_scale_cuda.h"

#include <algorithm>

#include "ops/loss_scale/loss_scale.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

constexpr int64_t kMostBlocks = 1024;

int64_t blocks_of(int64_t elements) {
  return std::clamp<int64_t>((elements + kElementThreads - 1) / kElementThreads, 1, kMostBlocks);
}

int64_t workspace(const Signature& signature) {
  return blocks_of(signature.in[0].numel()) * static_cast<int64_t>(sizeof(int));
}

void unscale_gradient(const KernelCall& call) {
  const int64_t blocks = blocks_of(call.in[0].numel());
  auto* const seen = reinterpret_cast<int*>(call.workspace);
  launch<UnscaleGradient>(call, blocks, kElementThreads,
                          {elements_of_call<2>(call.out.first(1), call.in.first(1)), device_data(call.in[1]), seen});
  launch<CombineFoundInf>(call, 1, kElementThreads, {seen, blocks, device_data(call.in[2]), device_data(call.out[1])});
}

void count(const KernelCall& call) {
  launch<CountApplied>(call, 1, kWarp, {device_data(call.in[0]), device_data(call.in[1]), device_data(call.out[0])});
}

void update(const KernelCall& call) {
  const auto& a = call.attributes.as<LossScaleAttributes>();
  launch<UpdateLossScale>(
      call, 1, kWarp,
      {device_data(call.in[0]), device_data(call.in[1]), device_data(call.in[2]), device_data(call.out[0]),
       device_data(call.out[1]), a.growth_factor, a.backoff_factor, a.growth_interval});
}

void assign(const KernelCall& call) {
  launch_elements<AssignUnless>(call, call.out[0].numel(),
                                {elements_of_call<2>(call.out, call.in.subspan(1, 1)), device_data(call.in[2])});
}

}  // namespace

std::vector<Kernel> loss_scale_kernels() {
  return {{.op = &kUnscaleGradient, .name = "elements", .workspace = workspace, .launch = unscale_gradient},
          {.op = &kCountApplied, .name = "number", .launch = count},
          {.op = &kUpdateLossScale, .name = "number", .launch = update},
          {.op = &kAssignUnless, .name = "elements", .launch = assign}};
}

}  // namespace laptime::cuda
