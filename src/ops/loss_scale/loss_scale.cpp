// Cards of loss scaling.
#include "ops/loss_scale/loss_scale.h"

#include <cmath>

#include "graph/structural_ops.h"

namespace laptime {
namespace {

std::vector<TensorType> infer_unscale(const Attributes&, std::span<const TensorType> in) {
  return {in[0], contiguous_type(DType::kBool, {})};
}
std::vector<TensorType> infer_count(const Attributes&, std::span<const TensorType> in) { return {in[0]}; }
std::vector<TensorType> infer_update(const Attributes&, std::span<const TensorType> in) { return {in[0], in[1]}; }
std::vector<TensorType> infer_assign(const Attributes&, std::span<const TensorType> in) {
  LAPTIME_CHECK(in[0].shape() == in[1].shape(), "cannot assign {} to {}", in[1].text(), in[0].text());
  return {in[0]};
}

// As in torch, the gradient is multiplied by the reciprocal of the scale, rounded to float32.
void reference_unscale(const OpCall& call) {
  const auto factor = static_cast<double>(static_cast<float>(1 / call.in[1].at(0)));
  bool found = call.in[2].at(0) != 0;
  for (int64_t i = 0; i < call.in[0].numel(); ++i) {
    const double element = call.in[0].at(i);
    found = found || !std::isfinite(element);
    call.out[0].put(i, element * factor);
  }
  call.out[1].put(0, found ? 1 : 0);
}

void reference_count(const OpCall& call) { call.out[0].put(0, call.in[0].at(0) + (call.in[1].at(0) != 0 ? 0 : 1)); }

void reference_update(const OpCall& call) {
  const auto& a = call.attributes.as<LossScaleAttributes>();
  const double scale = call.in[0].at(0);
  const double good_steps = call.in[1].at(0) + 1;
  const bool found = call.in[2].at(0) != 0;
  const bool grows = !found && good_steps == static_cast<double>(a.growth_interval);
  const auto grown = static_cast<double>(static_cast<float>(scale * a.growth_factor));
  call.out[0].put(0, found ? scale * a.backoff_factor : grows && std::isfinite(grown) ? grown : scale);
  call.out[1].put(0, found || grows ? 0 : good_steps);
}

void reference_assign(const OpCall& call) {
  const bool skip = call.in[2].at(0) != 0;
  for (int64_t i = 0; i < call.out[0].numel(); ++i) call.out[0].put(i, skip ? call.in[0].at(i) : call.in[1].at(i));
}

}  // namespace

const OpCard kUnscaleGradient = {.name = "unscale_gradient",
                                 .infer = infer_unscale,
                                 .flops = [](const Signature& s) { return static_cast<double>(s.in[0].numel()); },
                                 .reference = reference_unscale,
                                 .may_overwrite = {{0, 0}}};
const OpCard kCountApplied = {.name = "count_applied_step",
                              .infer = infer_count,
                              .flops = [](const Signature&) { return 1.0; },
                              .reference = reference_count,
                              .updates = {{0, 0}}};
const OpCard kUpdateLossScale = {.name = "update_loss_scale",
                                 .infer = infer_update,
                                 .flops = [](const Signature&) { return 2.0; },
                                 .reference = reference_update,
                                 .updates = {{0, 0}, {1, 1}}};
const OpCard kAssignUnless = {
    .name = "assign_unless",
    .kind = OpKind::kCopy,
    .infer = infer_assign,
    .bytes = [](const Signature& s) { return (Size(s.in[1].bytes()) + s.out[0].bytes()).value(); },
    .reference = reference_assign,
    .updates = {{0, 0}}};

std::span<const OpCard* const> loss_scale_cards() {
  static constexpr const OpCard* kCards[] = {&kUnscaleGradient, &kCountApplied, &kUpdateLossScale, &kAssignUnless};
  return kCards;
}

UnscaledGradients unscale(Builder& build, std::span<const ValueId> gradients, ValueId scale,
                          std::span<const ValueId> scopes) {
  UnscaledGradients unscaled{{}, fill(build, {}, 0, DType::kBool)};
  for (size_t i = 0; i < gradients.size(); ++i) {
    const auto scope = build.scope_of(scopes[i]);
    const ValueId inputs[] = {gradients[i], scale, unscaled.found_inf};
    const std::vector<ValueId> out = build.emit(kUnscaleGradient, {}, inputs);
    build.mark_role(out[0], Role::kGradient);
    unscaled.gradients.push_back(out[0]);
    unscaled.found_inf = out[1];
  }
  return unscaled;
}

ValueId count_applied(Builder& build, ValueId applied, ValueId found_inf) {
  return build.emit_one(kCountApplied, {}, {applied, found_inf});
}

void update_loss_scale(Builder& build, ValueId scale, ValueId good_steps, ValueId found_inf,
                       const LossScaleAttributes& attributes) {
  const ValueId inputs[] = {scale, good_steps, found_inf};
  build.emit(kUpdateLossScale, attributes, inputs);
}

ValueId assign_unless(Builder& build, ValueId state, ValueId value, ValueId skip) {
  return build.emit_one(kAssignUnless, {}, {state, value, skip});
}

}  // namespace laptime
