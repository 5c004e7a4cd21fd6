// Kernels of loss scaling.
#include "ops/loss_scale/loss_scale.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "backend/cpu/vector/copy_elements.h"
#include "backend/cpu/vector/strips.h"

namespace laptime::LAPTIME_ISA {
namespace {

struct Unscaling {
  float factor;
  std::atomic<uint32_t>* found;  // nonzero if an element is not finite
};

void unscale_strip(const Strip& strip) {
  const auto& unscaling = *static_cast<const Unscaling*>(strip.parameters);
  constexpr uint32_t kExponent = 0x7F800000U;  // exponent bits, all ones in infinity and NaN
  const float factor = unscaling.factor;
  float* const to = strip.floats(0);
  const float* const from = strip.floats(1);
  uint32_t found = 0;
#pragma omp simd reduction(| : found)
  for (int64_t i = 0; i < strip.size; ++i) {
    found |= (std::bit_cast<uint32_t>(from[i]) & kExponent) == kExponent ? 1U : 0U;
    to[i] = from[i] * factor;
  }
  if (found != 0) unscaling.found->store(1, std::memory_order_relaxed);
}

// (grad [...], scale [], found_inf []) -> (grad / scale [...], found_inf [])
void launch_unscale(const KernelCall& call) {
  std::atomic<uint32_t> found{*call.in[2].as<const uint8_t>()};
  const Unscaling unscaling{static_cast<float>(1 / static_cast<double>(*call.in[1].as<const float>())), &found};
  run_strips(cpu::team_of(call), call.out.first(1), call.in.first(1),
             {.function = unscale_strip, .parameters = &unscaling});
  *call.out[1].as<uint8_t>() = found.load(std::memory_order_relaxed) != 0 ? 1 : 0;
}

std::string unscale_refusal(const Signature& signature) {
  if (signature.in[0].dtype != DType::kFloat32) return "the gradient is not float32";
  if (signature.in[1].dtype != DType::kFloat32) return "scale is not float32";
  return signature.in[2].dtype == DType::kBool ? "" : "found_inf is not bool";
}

void copy_strip(const Strip& strip) { std::copy_n(strip.floats(1), strip.size, strip.floats(0)); }

// (state [...], value [...], skip []) -> state [...], in place
void launch_assign_unless(const KernelCall& call) {
  if (*call.in[2].as<const uint8_t>() != 0) return;
  const TensorView& value = call.in[1];
  const TensorView& state = call.out[0];
  if (value.type.dtype == state.type.dtype) return copy_elements(cpu::team_of(call), value, state);
  run_strips(cpu::team_of(call), {&state, 1}, {&value, 1}, {.function = copy_strip});
}

std::string assign_refusal(const Signature& signature) {
  const DType state = signature.in[0].dtype;
  const DType value = signature.in[1].dtype;
  if (state == value) return "";
  if (state == DType::kBool || value == DType::kBool) return "only one of the value and the state is bool";
  return strips_refusal(signature.out, {&signature.in[1], 1});
}

}  // namespace

std::vector<Kernel> loss_scale_kernels() {
  return {{.op = &kUnscaleGradient, .name = isa_name("strips"), .supports = unscale_refusal, .launch = launch_unscale},
          {.op = &kAssignUnless, .name = isa_name("move"), .supports = assign_refusal, .launch = launch_assign_unless}};
}

}  // namespace laptime::LAPTIME_ISA
