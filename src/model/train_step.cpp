// Assembles the training step around the forward pass of the model.
#include "model/train_step.h"

#include <algorithm>

#include "graph/structural_ops.h"
#include "model/model_card.h"
#include "ops/adamw/adamw.h"
#include "ops/clip_grad_norm/clip_grad_norm.h"
#include "ops/collective/collective.h"
#include "ops/loss_scale/loss_scale.h"
#include "ops/pointwise/pointwise.h"

namespace laptime {
namespace {

AdamRule rule_of(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::k2025: return AdamRule::k2025;
    case Optimizer::k2026: return AdamRule::k2026;
    case Optimizer::kTorch: return AdamRule::kTorch;
  }
  return AdamRule::k2025;
}

using Sources = std::vector<DeclaredSource>;

// Adds each gradient to the gradient that was kept from earlier steps.
void accumulate(Builder& build, const Sources& sources, std::vector<ValueId>& grads) {
  for (size_t i = 0; i < sources.size(); ++i) {
    const auto scope = build.scope_of(sources[i].value);
    const ValueId kept =
        build.source(source::kGradient + sources[i].spec.name, build.type(sources[i].value), Role::kGradient);
    grads[i] = assign(build, kept, add(build, kept, grads[i]));
  }
}

ValueId scaled(ModelBuilder& build, ValueId loss) {
  build.current = {Phase::kForward, {}, {}, false};
  ValueId scale = build.graph().find_source(source::kLossScale);
  if (!scale.valid())
    scale = build.source(source::kLossScale, contiguous_type(build.real(), {}), Role::kOptimizerState);
  return mul(build, loss, scale);
}

// The forward pass of micro-batch `part` of the rank's sequences. The loss is weighted by the micro-batch's share of
// the batch of all ranks, so that losses and gradients, summed over micro-batches and ranks, are those of the whole
// batch.
ModelOutputs build_part(ModelBuilder& build, const ModelConfig& model, int64_t part, int64_t parts) {
  const int64_t ranks = build.share().ranks;
  if (parts == 1 && ranks == 1) return card_of(model).build(build, model);
  build.current = {Phase::kForward, {}, {}, false};
  const ModelBuilder::MicroBatch rows{part, model.batch_size * part / parts, model.batch_size * (part + 1) / parts,
                                      model.batch_size};
  build.select(rows);
  ModelConfig of_part = model;
  of_part.batch_size = rows.end - rows.begin;
  ModelOutputs outputs = card_of(model).build(build, of_part);
  build.current = {Phase::kForward, {}, {}, false};
  outputs.result = mul_scalar(build, outputs.result,
                              static_cast<double>(of_part.batch_size) / static_cast<double>(model.batch_size * ranks));
  return outputs;
}

std::vector<ValueId> values_of(const Sources& sources) { return mapped(sources, &DeclaredSource::value); }

UnscaledGradients unscaled(ModelBuilder& build, std::span<const ValueId> grads) {
  build.current = {Phase::kOptimizer, {}, {}, false};
  return unscale(build, grads, build.graph().find_source(source::kLossScale), values_of(build.parameters()));
}

// Counts the step unless it is skipped, and sets the scale of the next step. Returns the step number for AdamW, which
// does not count skipped steps.
ValueId account_for_step(ModelBuilder& build, const RunConfig& config, ValueId found_inf) {
  const TensorType count = contiguous_type(DType::kInt64, {});
  const ValueId applied =
      count_applied(build, build.source(source::kAppliedSteps, count, Role::kOptimizerState), found_inf);
  if (loss_scaling(config.loss_scale).is_dynamic) {
    update_loss_scale(build, build.graph().find_source(source::kLossScale),
                      build.source(source::kGoodSteps, count, Role::kOptimizerState), found_inf);
  }
  return applied;
}

GroupAttributes group_of(const ModelBuilder& build) { return {build.share().ranks, build.share().rank}; }

bool is_divided(const ModelBuilder& build, const DeclaredSource& parameter) {
  return build.share().divides(Shape(std::span(parameter.spec.shape)).product());
}

ValueId all_reduce(ModelBuilder& build, ValueId value) { return build.emit_one(kAllReduce, group_of(build), {value}); }

// The gradient of the whole batch: the whole tensor, or only the rank's chunk if the ranks divide the optimizer state.
ValueId summed_over_ranks(ModelBuilder& build, const DeclaredSource& parameter, ValueId grad) {
  const auto scope = build.scope_of(parameter.value);
  if (!is_divided(build, parameter)) return all_reduce(build, grad);
  // With --shard optimizer, the whole gradient stays allocated, as in ZeRO-1.
  const OpCard& op = build.share().shard == Shard::kOptimizer ? kReduceScatterInPlace : kReduceScatter;
  const ValueId elements = reshape(build, grad, {build.type(grad).numel()});
  const ValueId chunk = build.emit_one(op, group_of(build), {elements});
  build.mark_role(chunk, Role::kGradient);
  return chunk;
}

// The squared norm of the gradients over all ranks. A gradient that every rank holds counts once.
ValueId squared_norm_of_all(ModelBuilder& build, std::span<const ValueId> grads) {
  struct Part {
    std::vector<ValueId> grads, parameters;
  };
  Part chunks;
  Part whole;
  for (size_t i = 0; i < grads.size(); ++i) {
    const DeclaredSource& parameter = build.parameters()[i];
    Part& part = is_divided(build, parameter) ? chunks : whole;
    part.grads.push_back(grads[i]);
    part.parameters.push_back(parameter.value);
  }
  const auto norm_of = [&](const Part& part) { return squared_norm(build, part.grads, part.parameters); };
  if (chunks.grads.empty()) return norm_of(whole);
  const ValueId squares = norm_of(chunks);
  const ValueId others = whole.grads.empty() ? ValueId{} : norm_of(whole);
  const auto scope = build.scope(kClipScope);
  const ValueId of_chunks = all_reduce(build, squares);
  return others.valid() ? add(build, of_chunks, others) : of_chunks;
}

// The elements of a parameter that the optimizer of this rank updates: all elements, or the rank's chunk.
ValueId updated_part(ModelBuilder& build, const DeclaredSource& parameter) {
  if (parameter.shard.valid()) return parameter.shard;
  if (!is_divided(build, parameter)) return parameter.value;
  const int64_t elements = build.type(parameter.value).numel();
  const int64_t chunk = elements / build.share().ranks;
  return slice(build, reshape(build, parameter.value, {elements}), 0, build.share().rank * chunk, chunk);
}

// Adds clipping, if requested, and the AdamW updates. `found_inf` is invalid if the loss is not scaled.
void update(ModelBuilder& build, const RunConfig& config, std::vector<ValueId> grads, ValueId found_inf) {
  build.current = {Phase::kOptimizer, {}, {}, false};
  if (config.clip_norm) {
    const ClippedGradients clipped =
        clip_to(build, grads, values_of(build.parameters()), squared_norm_of_all(build, grads), *config.clip_norm);
    build.output(output::kGradNorm, clipped.norm);
    // Clips kept gradients in place: the next step adds to the clipped gradients, as in PyTorch.
    for (size_t i = 0; i < grads.size(); ++i) {
      const auto scope = build.scope_of(build.parameters()[i].value);
      grads[i] = config.accumulate ? assign(build, grads[i], clipped.gradients[i]) : clipped.gradients[i];
    }
  }
  AdamInputs inputs{.step = build.graph().find_source(source::kStep),
                    .lr = build.source(source::kLr, contiguous_type(build.real(), {}), Role::kInput),
                    .skip = found_inf};
  if (found_inf.valid()) inputs.step = account_for_step(build, config, found_inf);
  const AdamWAttributes attributes{rule_of(config.optimizer), config.beta1, config.beta2, config.eps,
                                   config.weight_decay};
  const DType moments = config.moments == MomentType::kBFloat16 ? DType::kBFloat16 : build.real();
  for (size_t i = 0; i < grads.size(); ++i) {
    const DeclaredSource& parameter = build.parameters()[i];
    const auto scope = build.scope_of(parameter.value);
    const ValueId part = updated_part(build, parameter);
    const TensorType type = contiguous_type(moments, build.type(part).shape());
    const ValueId m = build.source(source::kFirstMoment + parameter.spec.name, type, Role::kOptimizerState);
    const ValueId v = build.source(source::kSecondMoment + parameter.spec.name, type, Role::kOptimizerState);
    const AdamState next = adamw(build, {part, m, v}, grads[i], inputs, attributes);
    if (part != parameter.value && !parameter.shard.valid())
      build.emit_one(kAllGatherInPlace, group_of(build), {next.w});
  }
}

}  // namespace

Graph build_train_step(const RunConfig& config, const StepOutputs& keep, DType real) {
  ModelConfig model = config.step_model();
  model.batch_size = config.rank_batch();
  const ModelCard& card = card_of(model);
  ModelBuilder build(real, static_cast<uint64_t>(config.seed),
                     {.ranks = config.ranks, .rank = keep.rank, .shard = config.shard});
  const int64_t parts = std::min(config.micro_batches, model.batch_size);
  Sources sources;
  std::vector<ValueId> grads;
  ValueId loss;
  const bool scales = loss_scaling(config.loss_scale).is_on;
  // Forward computes no gradients, so it needs no memory for those of earlier steps.
  const bool keeps_gradients = config.accumulate && config.pass != Pass::kForward;
  for (int64_t part = 0; part < parts; ++part) {
    const auto [result, logits] = build_part(build, model, part, parts);
    loss = part == 0 ? result : add(build, loss, result);
    if (keep.logits && logits.valid() && parts == 1) build.output(output::kLogits, logits);
    if (config.pass == Pass::kInference) continue;
    const ValueId objective = scales ? scaled(build, result) : result;
    build.current = {Phase::kBackward, {}, {}, false};
    sources = build.parameters();
    sources.insert(sources.end(), build.inputs().begin(), build.inputs().end());
    grads = gradients(build, objective, values_of(sources), grads);
  }
  if (config.ranks > 1) loss = all_reduce(build, loss);
  build.output(card.is_language_model ? output::kLoss : output::kValues, loss);
  if (config.pass == Pass::kInference) return build.finish();
  if (config.ranks > 1) {
    for (size_t i = 0; i < grads.size(); ++i) grads[i] = summed_over_ranks(build, sources[i], grads[i]);
  }
  if (keeps_gradients) accumulate(build, sources, grads);
  const bool step = config.pass == Pass::kStep;
  ValueId found_inf;
  if (step && scales) {
    UnscaledGradients finished = unscaled(build, grads);
    grads = std::move(finished.gradients);
    found_inf = finished.found_inf;
  }
  if ((!step || keep.gradients) && !keeps_gradients) {
    for (size_t i = 0; i < grads.size(); ++i) build.output(output::kGradient + sources[i].spec.name, grads[i]);
  }
  if (step) update(build, config, grads, found_inf);
  return build.finish();
}

}  // namespace laptime
