// Kernel of AdamW: reads and writes w, m and v in one pass.
#include "ops/adamw/adamw.h"

#include <algorithm>
#include <cmath>

#include "backend/cpu/vector/multiply_add.h"
#include "backend/cpu/vector/strips.h"

namespace laptime::LAPTIME_ISA {
namespace {

// The three rules in one form:
//   w -= decay w (2026, torch); w -= size m / (sqrt(v) root_scale + eps); w -= decay w (2025)
struct Step {
  float beta1, one_minus_beta1, beta2, one_minus_beta2;
  float size, root_scale, eps;
  float decay;
};

Step step_of(const AdamWAttributes& a, int64_t count, double lr) {
  const auto t = static_cast<double>(count);
  const double correction1 = 1 - std::pow(a.beta1, t);
  const double correction2 = std::sqrt(1 - std::pow(a.beta2, t));
  const bool torch = a.rule == AdamRule::kTorch;
  const double size = torch ? lr / correction1 : lr * correction2 / correction1;
  return {static_cast<float>(a.beta1), static_cast<float>(1 - a.beta1),
          static_cast<float>(a.beta2), static_cast<float>(1 - a.beta2),
          static_cast<float>(size),    torch ? static_cast<float>(1 / correction2) : 1.0F,
          static_cast<float>(a.eps),   static_cast<float>(lr * a.weight_decay)};
}

// Indices of the operands of a strip. If w has a copy, the next value of the copy comes first.
template <bool has_copy>
struct Operands {
  enum : uint8_t { kNewW = has_copy, kNewM, kNewV, kW, kGrad, kM, kV };
};

// Leaves w, m and v unchanged.
template <bool has_copy>
void skipped_strip(const Strip& strip) {
  using At = Operands<has_copy>;
  const auto keep = [&](int to, int from) {
    if (strip.floats(to) != strip.floats(from)) std::copy_n(strip.floats(from), strip.size, strip.floats(to));
  };
  keep(At::kNewW, At::kW);
  keep(At::kNewM, At::kM);
  keep(At::kNewV, At::kV);
  if (has_copy) keep(0, At::kW);
}

// Updates a strip. Both options are template arguments, because a branch in the loop would prevent vectorisation.
template <bool decay_first, bool has_copy>
void strip(const Strip& strip) {
  using At = Operands<has_copy>;
  const Step s = *static_cast<const Step*>(strip.parameters);
  float* copy = has_copy ? strip.floats(0) : nullptr;
  float* new_w = strip.floats(At::kNewW);
  float* new_m = strip.floats(At::kNewM);
  float* new_v = strip.floats(At::kNewV);
  const float* w = strip.floats(At::kW);
  const float* grad = strip.floats(At::kGrad);
  const float* m = strip.floats(At::kM);
  const float* v = strip.floats(At::kV);
  constexpr int64_t kGroup = 64;
  // Prefetches 2 KB ahead, because the hardware prefetcher does not keep up with four streams.
  constexpr int64_t kPrefetchDistance = 512;
  for (int64_t begin = 0; begin < strip.size; begin += kGroup) {
    const int64_t end = strip.size - begin < kGroup ? strip.size : begin + kGroup;
    for (int64_t i = begin + kPrefetchDistance; i < begin + kPrefetchDistance + kGroup; i += 16) {
      __builtin_prefetch(w + i, 1);
      __builtin_prefetch(grad + i);
      __builtin_prefetch(m + i, 1);
      __builtin_prefetch(v + i, 1);
    }
#pragma omp simd
    for (int64_t i = begin; i < end; ++i) {
      const float next_m = multiply_add(s.beta1, m[i], s.one_minus_beta1 * grad[i]);
      const float next_v = multiply_add(s.beta2, v[i], s.one_minus_beta2 * grad[i] * grad[i]);
      const float before = decay_first ? multiply_add(-s.decay, w[i], w[i]) : w[i];
      const float after = before - s.size * next_m / multiply_add(__builtin_sqrtf(next_v), s.root_scale, s.eps);
      const float next_w = decay_first ? after : multiply_add(-s.decay, after, after);
      new_w[i] = next_w;
      if (has_copy) copy[i] = next_w;
      new_m[i] = next_m;
      new_v[i] = next_v;
    }
  }
}

// ([copy [...], ]w [...], grad [...], m [...], v [...], step [], lr [][, skip []]) -> ([copy, ]w, m, v)
template <bool has_copy>
void launch(const KernelCall& call) {
  const auto& attributes = call.attributes.as<AdamWAttributes>();
  const std::span<const TensorView> in = call.in.subspan(has_copy);
  const Step step = step_of(attributes, *in[4].as<const int64_t>(), static_cast<double>(*in[5].as<const float>()));
  const bool skips = in.size() > 6 && *in[6].as<const uint8_t>() != 0;
  const StripFunction update = attributes.rule == AdamRule::k2025 ? strip<false, has_copy> : strip<true, has_copy>;
  run_strips(cpu::team_of(call), call.out, in.first(4),
             {.function = skips ? skipped_strip<has_copy> : update, .parameters = &step});
}

template <bool has_copy>
std::string refusal(const Signature& signature) {
  const std::span<const TensorType> in = std::span(signature.in).subspan(has_copy);
  if (in[4].dtype != DType::kInt64) return "step is not int64";
  if (in[5].dtype != DType::kFloat32) return "lr is not float32";
  if (in.size() > 6 && in[6].dtype != DType::kBool) return "skip is not bool";
  return strips_refusal(signature.out, in.first(4));
}

}  // namespace

std::vector<Kernel> adamw_kernels() {
  const std::string name = isa_name("one_pass");
  return {{.op = &kAdamW, .name = name, .supports = refusal<false>, .launch = launch<false>},
          {.op = &kAdamWWithCopy, .name = name, .supports = refusal<true>, .launch = launch<true>}};
}

}  // namespace laptime::LAPTIME_ISA
