// Cards of AdamW. After m = b1 m + (1 - b1) g and v = b2 v + (1 - b2) g^2, in step t:
//   2025:  w -= lr sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps); w -= lr weight_decay w
//   2026:  like 2025, but the weight decays first
//   torch: w -= lr weight_decay w; w -= lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + eps)
#include "ops/adamw/adamw.h"

#include <cmath>

#include "graph/structural_ops.h"
#include "ops/loss_scale/loss_scale.h"
#include "ops/pointwise/pointwise.h"

namespace laptime {
namespace {

enum Input : uint8_t { kW, kGrad, kM, kV, kStep, kLr, kSkip };

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> in) {
  LAPTIME_CHECK(in[kW].shape() == in[kGrad].shape(), "gradient {} does not match parameter {}", in[kGrad].text(),
                in[kW].text());
  return {in[kW], in[kM], in[kV]};
}

std::vector<TensorType> infer_with_copy(const Attributes& attributes, std::span<const TensorType> in) {
  std::vector<TensorType> out = infer(attributes, in.subspan(1));
  LAPTIME_CHECK(in[0].shape() == out[0].shape(), "copy {} does not match parameter {}", in[0].text(), out[0].text());
  out.insert(out.begin(), in[0]);
  return out;
}

std::vector<TensorType> infer_step_size(const Attributes&, std::span<const TensorType> in) {
  return {contiguous_type(in[1].dtype, {})};
}

// The kernels convert a 16-bit gradient to float32 themselves.
std::optional<Attributes> fold_input_cast(const Attributes& attributes, int input, DType to) {
  return input == kGrad && to == DType::kFloat32 ? std::optional(attributes) : std::nullopt;
}

void reference(const OpCall& call) {
  const auto& a = call.attributes.as<AdamWAttributes>();
  const double t = call.in[kStep].at(0);
  const double lr = call.in[kLr].at(0);
  const double correction1 = 1 - std::pow(a.beta1, t);
  const double correction2 = std::sqrt(1 - std::pow(a.beta2, t));
  const bool skip = call.in.size() > kSkip && call.in[kSkip].at(0) != 0;
  for (int64_t i = 0; i < call.out[0].numel(); ++i) {
    const double g = call.in[kGrad].at(i);
    const double m = a.beta1 * call.in[kM].at(i) + (1 - a.beta1) * g;
    const double v = a.beta2 * call.in[kV].at(i) + (1 - a.beta2) * g * g;
    double w = call.in[kW].at(i);
    if (a.rule != AdamRule::k2025) w -= lr * a.weight_decay * w;
    if (a.rule == AdamRule::kTorch) {
      w -= lr / correction1 * m / (std::sqrt(v) / correction2 + a.eps);
    } else {
      w -= lr * correction2 / correction1 * m / (std::sqrt(v) + a.eps);
    }
    if (a.rule == AdamRule::k2025) w -= lr * a.weight_decay * w;
    call.out[0].put(i, skip ? call.in[kW].at(i) : w);
    call.out[1].put(i, skip ? call.in[kM].at(i) : m);
    call.out[2].put(i, skip ? call.in[kV].at(i) : v);
  }
}

void reference_with_copy(const OpCall& call) {
  reference({call.attributes, call.in.subspan(1), call.out.subspan(1)});
  for (int64_t i = 0; i < call.out[0].numel(); ++i) call.out[0].put(i, call.out[1].at(i));
}

double flops(const Signature& s) { return 14.0 * static_cast<double>(s.out[0].numel()); }

void reference_step_size(const OpCall& call) {
  const auto& a = call.attributes.as<AdamWAttributes>();
  const double t = call.in[0].at(0);
  call.out[0].put(0, call.in[1].at(0) * std::sqrt(1 - std::pow(a.beta2, t)) / (1 - std::pow(a.beta1, t)));
}

// Lowers AdamW to the operations of the 2025 and 2026 editions' optimizers. torch's fused optimizer is a single kernel
// and is not lowered.
std::vector<ValueId> decompose(Builder& build, const Attributes& attributes, std::span<const ValueId> in) {
  const auto& a = attributes.as<AdamWAttributes>();
  if (a.rule == AdamRule::kTorch) return {};
  const auto set = [&](ValueId state, ValueId value) {
    return in.size() > kSkip ? assign_unless(build, state, value, in[kSkip]) : assign(build, state, value);
  };
  const ValueId step_size = build.emit_one(kAdamStepSize, attributes, {in[kStep], in[kLr]});
  const ValueId decay_size = mul_scalar(build, in[kLr], a.weight_decay);
  const DType real = build.type(in[kW]).dtype;
  // The next m or v: `value` before rounding, from which the weight is updated, and `state` as stored.
  struct Moment {
    ValueId value, state;
  };
  // Sets the state to beta * state + term, where `term` is already multiplied by 1 - beta.
  const auto next_moment = [&](ValueId state, double beta, ValueId term) -> Moment {
    const ValueId value = add(build, mul_scalar(build, cast(build, state, real), beta), term);
    const ValueId kept = set(state, value);
    return {build.type(state).dtype == real ? kept : value, kept};
  };
  const Moment m = next_moment(in[kM], a.beta1, mul_scalar(build, in[kGrad], 1 - a.beta1));
  const ValueId squared = mul_scalar(build, square(build, in[kGrad]), 1 - a.beta2);
  const Moment v = next_moment(in[kV], a.beta2, squared);
  ValueId w = in[kW];
  const auto decay = [&] { w = set(w, sub(build, w, mul(build, decay_size, w))); };
  if (a.rule == AdamRule::k2026) decay();
  const ValueId direction = div(build, mul(build, step_size, m.value), add_scalar(build, sqrt(build, v.value), a.eps));
  w = set(w, sub(build, w, direction));
  if (a.rule == AdamRule::k2025) decay();
  return {w, m.state, v.state};
}

}  // namespace

const char* name_of(AdamRule rule) {
  switch (rule) {
    case AdamRule::k2025: return "2025";
    case AdamRule::k2026: return "2026";
    case AdamRule::kTorch: return "torch";
  }
  return "?";
}

const OpCard kAdamW = {.name = "adamw",
                       .infer = infer,
                       .flops = flops,
                       .reference = reference,
                       .decompose = decompose,
                       .fold_input_cast = fold_input_cast,
                       .with_copy = &kAdamWWithCopy,
                       .updates = {{0, kW}, {1, kM}, {2, kV}}};
const OpCard kAdamWWithCopy = {.name = "adamw_with_copy",
                               .infer = infer_with_copy,
                               .flops = flops,
                               .bytes =
                                   [](const Signature& s) {
                                     Size bytes = 0;
                                     for (const TensorType& type : s.out) bytes += type.bytes();
                                     for (size_t i = 1; i < s.in.size(); ++i) bytes += s.in[i].bytes();
                                     return bytes.value();
                                   },
                               .reference = reference_with_copy,
                               .updates = {{0, 0}, {1, 1 + kW}, {2, 1 + kM}, {3, 1 + kV}}};
const OpCard kAdamStepSize = {.name = "adamw_step_size",
                              .infer = infer_step_size,
                              .flops = [](const Signature&) { return 4.0; },
                              .reference = reference_step_size};

std::span<const OpCard* const> adamw_cards() {
  static constexpr const OpCard* kCards[] = {&kAdamW, &kAdamWWithCopy, &kAdamStepSize};
  return kCards;
}

AdamState adamw(Builder& build, const AdamState& state, ValueId grad, const AdamInputs& inputs,
                const AdamWAttributes& attributes) {
  std::vector<ValueId> operands{state.w, grad, state.m, state.v, inputs.step, inputs.lr};
  if (inputs.skip.valid()) operands.push_back(inputs.skip);
  const std::vector<ValueId> next = build.emit(kAdamW, attributes, operands);
  return {next[0], next[1], next[2]};
}

}  // namespace laptime
